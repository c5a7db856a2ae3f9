"""The grammar of rental adverts, in the notation of `words.py`.

`<size>` in a phrase says that what follows belongs to this field, {stop} is the end of a sentence, {sep} separates the
items of a list.  The fields share most of their words on purpose: people write of the kitchen when they ask to be
called, and of the park when they praise the view.
"""

from __future__ import annotations

WORDS = {
    "quality": """
        large spacious new great beautiful sunny nice quiet big bright private lovely clean charming huge
        cozy remodeled updated modern gorgeous spotless newer cute open airy freshly_painted stunning full
        renovated good-sized upgraded secluded elegant sparkling comfortable generous immaculate classic
        wonderful fabulous well_kept tasteful roomy light-filled stylish brand_new decent perfect unique
        vintage stately oversized tiled custom original double restored sleek breezy lush shady serene
        handsome pristine rustic funky designer convenient sweet""",
    "thing": """
        kitchen floors closets living_room yard bathroom deck windows garage patio fireplace balcony
        appliances view garden bedroom stove carpet ceilings dining_room refrigerator cabinets pool
        building dishwasher unit closet laundry_room counters gym courtyard tub lobby den porch shower
        storage microwave basement roof_deck loft oven rooms foyer office skylights blinds paint hallway
        landscaping entry sauna hot_tub mirrors bay_windows backyard breakfast_nook family_room light
        fixtures linen_closet pantry elevator spa clubhouse entrance doors washer dryer driveway staircase
        sink sunroom master_bedroom attic alcove fan fans shelves tile drapes lawn carport workshop""",
    "material": """
        hardwood wood granite marble tile stainless gas electric berber walk-in french double_pane oak
        maple ceramic vaulted crown built-in wall-to-wall stone brick parquet glass mirrored copper slate""",
    "spot": """
        park shops beach downtown restaurants freeway bart campus train_station bus_line schools
        public_transportation lake library market grocery_store cafes hospital light_rail village mall
        ferry theaters farmers_market bike_path trails waterfront museum playground stadium airport
        hiking_trails bookstore bus_stop university golf_course post_office marina bakeries gym pool
        garden nightlife highway bridge ocean hills river bars downtown_shops medical_center courthouse
        subway dog_park taqueria zoo creek reservoir""",
    "bulk": "water garbage heat gas electricity cable hot_water trash sewer electric pg&e dsl internet power gardener",
    "pet": """
        pets dogs cats pets smoking smokers dogs large_dogs animals section_8 subletting parties waterbeds
        drugs cat""",
    "month": """
        july june august september may october april november december march january february""",
    "person": """
        mike susan john maria dave lisa tom karen jim linda steve ana chris kathy mark jenny bob nancy pat
        robert joan lee kim alex tony diane rick sara paul wendy george tina ed carol manager""",
    "head": """
        oak pine wal green fair mont san_car lin maple wood hill del el_ma red bel glen haw ash brook
        clare devon ever frank gran har jeff kent lake mer nor or park quin rich stan tur ver web york
        alder birch cedar dan elm fern gold hamp ivy juni lau mar oakl palm rose""",
    "tail": """
        wood ton dale mont view ville crest field ley land hurst gate port ridge side ford shire mere
        haven burn stone more wyn bury""",
    "way": "st ave street avenue blvd st rd drive way dr court lane ct place ln road terrace",
    "kind": """
        apartment house unit place studio flat condo cottage duplex home in-law townhouse loft building
        triplex victorian complex room penthouse bungalow""",
    "folk": """
        students couple professional family friends people girl guy owner landlord neighbors
        tenants professionals manager grad_student housemates male female dog""",
    "mood": """
        responsible quiet clean friendly easygoing mature neat considerate employed reliable
        laid_back honest tidy fun non-smoking vegetarian working serious busy social open_minded""",
    "digit": "1 2 3 4 5 6 7 8 9 0",
    "first": "1 2 3 4 5 6 7 8 9",
    "late": "4 5 6 7 8 9",
    "few": "2 1 3 1 4 two one three",
    "size_word": "sq_ft sqft square_feet sq._ft. sf sq_feet",
    "verb": "has features offers includes has_got boasts comes_with enjoys",
}

RULES = {
    # what the fields share
    "np": """
        {quality} {thing}|{material} {thing}|{thing}|{quality} {quality} {thing}|{quality} {kind}
        |{quality} {thing} and {thing}|{thing} with {material} {thing}|{quality}, {quality} {thing}""",
    "hood": """
        {head}{tail}|{head}{tail} heights|the {head}{tail}|north {head}{tail}|downtown {head}{tail}
        |{head}{tail} park|west {head}{tail}|{head}{tail} village|{head}{tail} hill|lower {head}{tail}""",
    "street": "{head}{tail} {way}|{head} {way}|{nth} {way}|{head}{tail}|{nth} st",
    "nth": "{late}th|1st|2nd|3rd|1{late}th|5th|2{late}th",
    "aim": """
        the {spot}|{spot}|{spot} and {spot}|{spot}, {spot} and {spot}|{Hood}|{Hood} {spot}|{spot} & {spot}
        |a {quality} {spot}|{spot}, {spot}, {spot}""",
    "money": """
        *MONEY*|$ {first}{digit}{digit}{digit}|$ {first}{digit}{digit}|*MONEY*|*MONEY*
        |{first}{digit}{digit}{digit}""",
    "date": """
        {Month} {nth}|{Month} 1st|{Month}|{Month} {first}|now|immediately|mid {Month}|{Month} 1|{first}/1{digit}
        |the {nth} of {Month}|early {Month}|{Month} 15th""",
    "length": "one year|6 month|month to month|12 month|1 year|1 yr|short term|long term",
    "group": "{folk}|{mood} {folk}|{mood}, {mood} {folk}|{folk} and {folk}|a {mood} {folk}|{few} {mood} {folk}",
    "walk": """
        walking distance to|close to|near|blocks to|minutes to|steps from|{few} blocks from|right by|walk to
        |{few} minutes from|short walk to|easy access to|across from|next to|not far from|on|off""",
    "beside": """
        next to|by|across from|minutes to|steps from|around the corner from|off|{few} blocks to
        |down the street from""",
    # the fields
    "features": """
        {feature_list}|{feature_prose}|{feature_list}|{feature_prose}{stop} {feature_prose}|{feature_list}""",
    "feature_list": """
        {item}{sep}{item}{sep}{item}|{item}{sep}{item}{sep}{item}{sep}{item}|{item}{sep}{item}
        |{item}{sep}{item}{sep}{item}{sep}{item}{sep}{item}{sep}{item}|{item}
        |{item}{sep}{item}{sep}{item}{sep}{item}{sep}{item}""",
    "item": """
        {np}|{np}|{material} {thing}|{quality} {thing}|{thing}|{thing} in {kind}|{thing} with {material} {thing}
        |off street parking|laundry in building|{few} car garage|parking|{few} {thing}|coin laundry
        |{quality} eat-in kitchen|washer/dryer|on-site laundry|lots of {thing}|new {thing}|{thing}/{thing}
        |parking available|views of the {spot}|{thing} included|no {thing}|{np} by the {thing}
        |garage parking available for {money}|furnished|cable ready|{thing} overlooking {spot}
        |{mood} {folk} upstairs|top floor|shared {thing}|washer and dryer hookups|{quality} {spot} outside""",
    "feature_prose": """
        the {kind} {verb} {np} and {np}|there is a {np} with {np}|{quality} {kind} with {np}
        |{np} and {np} throughout|the {thing} {verb} {np}, {np} and {np}
        |it is a {quality} {kind} in a {quality} building|this {kind} {verb} {np}|{np} opens onto {np}
        |you will love the {np}|enjoy the {quality} {thing} and {spot}
        |kitchen {verb} {material} {thing} and {np}|{few} parking space included
        |the {thing} has just been {quality} and there is {quality} {thing}|access to {thing} and {thing}
        |we have a {np} for {folk}|parking for {few} cars in the {thing}|a {np} and a {np} by the {thing}
        |laundry is in the {thing}|upstairs is a {np}, downstairs {np}|perfect {thing} for {group}
        |{quality} {thing} that you share with the {folk}|all new {thing}""",
    "size": """
        {few} bedroom {few} bath {kind}|{few}br/{few}ba|{few} bdrm {few} bath|{few} bed, {few} bath
        |{few} bedrooms and {few} baths, {first}{digit}0 {size_word}|studio {kind}
        |{quality} {few} bedroom {kind}|{few} bdrm {kind}, approx {first}{digit}0 {size_word}
        |approximately {first}{digit}0 {size_word}|{quality} {few} br {kind} on {nth} floor
        |this is a {few} bedroom, {few} bath {kind}|{quality} {kind} with {few} {quality} bedrooms
        |one bedroom {kind}|junior {few} bedroom|{few} bedroom plus {thing}
        |{few} rooms, {quality} {thing} and {few} bath|1{digit}x1{digit} room|{few} story {kind}""",
    "rent": """
        {money} per month|{money}|rent is {money} a month with {money} deposit|{money}/month
        |rent : {money} deposit : {money}|{money} / mo + deposit|{length} lease at {money}
        |asking {money} , {money} security deposit|{money} rent includes {thing}
        |only {money} a month for a {length} lease|security deposit is {money}
        |{length} lease, first and last month|{money} with {money} off first month
        |deposit {money} and {length} lease required|rent reduced to {money} for {quality} {folk}
        |{money} for {few} {folk}, {money} for {few}|move in special : {money}""",
    "restrictions": """
        no {pet}|no {pet} or {pet}|no {pet}, no {pet}|sorry no {pet}|{pet} ok|no {pet} please
        |{pet} negotiable with deposit of {money}|{mood} {folk} only, no {pet}|non-smoking {kind}
        |no {pet} in the {thing}|{length} lease and credit check required|{pet} considered, no {pet}
        |we accept {pet} but no {pet}|{few} {folk} max|{few} cat ok|good credit and references a must
        |no {thing} use after *time*|prefer {group}, no {pet}|small {pet} ok with {quality} yard
        |smoking outside on the {thing} only""",
    "neighborhood": """
        {walk} {aim}|located in {Hood}, {walk} {aim}|{walk} {aim}, {aim}|{quality} {Hood} neighborhood
        |in the heart of {Hood}|located {walk} {aim} and {aim}|{quality} neighborhood with {spot} and {spot}
        |{quality} street {walk} {aim}|{few} blocks to {aim}|the {Hood} area has {quality} {spot}
        |it is {walk} {aim}|in {Hood}|{quality} tree lined street|{Hood} - {walk} {aim}
        |{aim} just outside the {thing}|easy commute to {aim}|close to {aim} and shopping
        |the {kind} is {walk} {aim}|great location, shopping and {aim} and {aim}
        |you can see the {spot} from the {thing}|{quality} building in a {quality} area {walk} {aim}
        |safe, {quality} area with {mood} neighbors""",
    "utilities": """
        {bulk} and {bulk} included|utilities included|all utilities paid|owner pays {bulk} and {bulk}
        |tenant pays {bulk}, {bulk}|{bulk}, {bulk} and {bulk} paid|includes {bulk}|plus {few}/{few} utilities
        |{bulk} is included in the rent|you pay {bulk}|utilities about {money} a month
        |rent includes {bulk} and {thing}|split {bulk} with {folk}|{folk} pay for {bulk}, owner for {bulk}
        |{bulk} {money} extra|no {bulk} bill""",
    "available": """
        available {date}|available {date}|avail. {date}|available {date} for {length}|move in {date}
        |ready {date}|the {kind} is available {date}|{date} - {date}|lease to begin {date}
        |can move in {date} or {date}|vacant now, ready for {group}|{length} lease starting {date}
        |cheaper if you move in {date}|available {date} when the {thing} is {quality}|must be rented by {date}""",
    "contact": """
        call {Person} at *phone*|call *phone*|please call {Person} *phone*|*phone*|email *email*
        |for more information call *phone* or email *email*|contact {Person} at *email*
        |call {Person} for an appointment *phone*|if you are interested in this {quality} {kind} call *phone*
        |open house {date} *time* to *time*|to see the {np} please call {Person}, *phone*
        |call after *time* and ask for {Person}|drive by then call *phone*
        |tell us about yourself ( {mood}, {pet}, {folk} ) *email*|showing {date} at *time*
        |come and see the {thing}, {date} *time*|shown by appointment only, leave a message for {Person}
        |visit our office by {spot} or *url*|reply with your move in date and {money} deposit, thanks {Person}
        |please do not disturb the {folk}, call {Person} *phone* cell|ask about our {quality} {kind}s, *phone*""",
    "photos": """
        photos at *url*|see pictures : *url*|*url*|click on this link for photos *url*|http : *url*
        |more pictures of the {np} : *url*|pics *url*|image of {thing} *url*|copy and paste the link : *url*
        |photos available by email|{thing} {thing} {thing} image|virtual tour of the {kind} at *url*""",
    "roommates": """
        looking for {group} to share {few} bedroom {kind}|you would share with {group}|we are {group}
        |{few} roommates, {group}|share {thing} and bath with {group}
        |i am a {mood} {folk} who likes {spot} and {quality} {thing}|no drama, {mood} and respectful
        |we have {few} cats and a {quality} yard|please be {mood}, {mood} and pay the rent on time
        |current roommates are {group}|you get the {np}, we share the {thing}|must be respectful and {mood}
        |we cook in the {quality} kitchen and go to the {spot}""",
    "other": """
        must see|welcome home|won't last|a {quality} {kind}|hurry this one will go fast|{Person} properties
        |{quality} place for {group}|why rent when you can live like this|come home to a {quality} {thing}
        |looking for a {quality} {kind}|your search is over|all this and {quality} {spot} too
        |equal housing opportunity|professionally managed by {Person} {head}{tail}
        |first time on the market in {few} years|we also have a {few} bedroom for {money}
        |subject to change without notice|thank you for looking|the {folk} are moving to {Hood}
        |ideal for {group}|rare find|property number {first}{digit}{digit}""",
    "address": """
        {first}{digit}{digit} {Street}|{first}{digit}{digit}{digit} {Street}, {Hood}|{Street} and {Street}
        |at {Street} {beside} {spot}|cross streets {Street} and {Street}
        |located at {first}{digit}{digit} {Street}|address : {first}{digit} {Street} # {digit}
        |{Street} by {Street}|{Street} near {Street}|{Street} @ {Street}
        |{first}{digit}{digit} {Street} {beside} {Street}
        |corner of {Street} and {Street}|on {Street} between {Street} and {spot}|the {kind} is on {Street}""",
    # what may stand before and behind a sentence of any field, and then belongs to that field
    "lead": """
        in this {quality} {kind},|for {group},|{quality} {kind} :|{Hood} {kind},|{np} and
        |{few} blocks from {spot},|from {Month} {nth}|with deposit,|note :|the {kind} in {Hood} :|{thing},
        |per {Person} :|as of {Month} {nth},|{few} bedroom {kind},|if you like {np},|{beside} {spot},
        |for {money}|great deal,|no fee,|also|{quality} and {quality},|on {Street},|the {folk} say
        |for a {length} lease,|in the {thing},|new :""",
    "aside": """
        and {np}|with {np}|in the {thing}|{beside} {aim}|for {group}|in {Hood}|and {thing} included
        |from {Month} {nth}|for {few} {folk}|and quiet {folk}|and {few} bedrooms|by the {spot}|and {bulk}
        |on {Street}|with {np} and {np}|, {quality} and {quality}|for {length}|next to {aim}|, ask {Person}
        |until {Month} {nth}|if you are {mood} and {mood}|, {thing}, {thing}|like the {thing}|or the {spot}
        |, {np} and {few} baths|for the {length}|where {folk} like the {quality} {spot}|and {quality} {spot}
        |which is {quality}|so the {thing} is {quality}|in a {quality} {kind}|and the {spot} is {quality}
        |, not the {thing}|, {few} {thing}, {few} {spot}|since {Month} {nth}|with a lease of {length}
        |all {Month}""",
    # several fields in one breath
    "blend": """
        <size>{quality} {few} bedroom {kind} <features>with {np} <neighborhood>{walk} {aim}
        |<rent>{money} <size>{few}br {kind} <neighborhood>in {Hood}
        |<size>{few} bedroom <features>with {np} and {np}, <utilities>{bulk} included
        |<size>{few} bedroom {few} bath {kind} <rent>for {money} a month <available>available {date}
        |<neighborhood>{Hood} <size>{few} bedroom {kind} <features>{np}, {np}
        |<features>{quality} {kind} with {np} <neighborhood>{walk} {aim}
        |<size>{few} bdrm <address>at {first}{digit}{digit} {Street} <neighborhood>{walk} {aim}
        |<rent>{money} a month <utilities>plus {bulk} <available>from {date}
        |<neighborhood>{Hood} - <rent>{money} - <size>{few}br
        |<size>{few}/{few} <features>{np} <restrictions>no {pet} <rent>{money}""",
}

SHORT = {
    "bedroom": ("bdrm", "br", "bed"),
    "bedrooms": ("bdrms", "br", "beds"),
    "bath": ("ba", "bth"),
    "baths": ("ba",),
    "bathroom": ("bath", "bthrm"),
    "apartment": ("apt", "apt."),
    "with": ("w/",),
    "and": ("&", "+"),
    "available": ("avail", "avail."),
    "hardwood": ("hdwd", "hrdwd"),
    "parking": ("pkg", "prkg"),
    "laundry": ("lndry",),
    "utilities": ("utils", "util"),
    "included": ("incl", "inc."),
    "includes": ("incl",),
    "month": ("mo", "mo."),
    "minutes": ("min", "mins"),
    "avenue": ("ave",),
    "large": ("lg", "lrg"),
    "living": ("liv",),
    "room": ("rm",),
    "rooms": ("rms",),
    "dining": ("din",),
    "dishwasher": ("d/w",),
    "washer": ("w",),
    "refrigerator": ("fridge", "frig"),
    "please": ("pls", "plz"),
    "deposit": ("dep",),
    "security": ("sec",),
    "building": ("bldg",),
    "transportation": ("transit", "trans"),
    "neighborhood": ("hood", "nbrhd"),
    "floor": ("flr", "fl"),
    "garage": ("gar",),
    "blocks": ("blks",),
    "near": ("nr",),
    "close": ("cls",),
    "information": ("info",),
    "appointment": ("appt",),
    "square": ("sq",),
    "feet": ("ft",),
    "kitchen": ("kit",),
    "approximately": ("approx",),
    "water": ("h2o", "wtr"),
    "garbage": ("garb",),
    "you": ("u",),
    "remodeled": ("remod",),
    "beautiful": ("beaut",),
    "credit": ("cr",),
}
