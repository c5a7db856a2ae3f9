"""The words and the grammar that synthetic references are written with.

WORDS holds plain lists (separated by white space, `_` stands for a blank); RULES holds phrases, with the
alternatives separated by `|` and other symbols named in braces.  In both, what stands earlier is more
frequent.  {Noun} is {noun} with capitals, {noun_low} is {noun} without, {city} is the beginning of a
{place}, {cap} a capital letter; {year} and {yy} are fixed by the reference being written.
"""

SMALL = "a an and are as at by can do for from in is of on or the to under via with"  # even in titles

WORDS = {
    "common_surname": """
        Smith Wang Müller Johnson Kim Garcia Lee Chen Brown Patel Nguyen Rossi Tanaka Anderson Schmidt
        Singh Cohen Martin Ivanov Silva Yamamoto Jones Dubois Jansen Kowalski Davis Sato Hansen Gupta
        Wilson Fischer Lopez Park Moore Taylor Nielsen Weber Bernard Novak White Khan Suzuki Harris
        Ferrari Clark Lewis Becker Robinson Walker Hall Young King Wright Zhang Hill Green Baker Adams
        Nelson Carter Mitchell Roberts Turner Phillips Campbell Parker Evans Edwards Collins Stewart
        Morris Murphy Cook Rogers Morgan Cooper Peterson Reed Bailey Bell Kelly Howard Ward Cox Richardson
        Wood Watson Brooks Bennett Gray James Hughes Price Myers Long Foster Sanders Ross Powell Sullivan
        Russell Fisher Henderson Cole West Jordan Owens Reynolds Ford Hamilton Graham Wallace Woods Marsh
        Stone Rice Banks Berg Holm Lund Olsen Larsen Virtanen Kaya Demir Haddad Levy Mizrahi Okafor Mensah
        Abebe Popescu Horvat Nagy Papadakis Conti Moreau Lefevre Vega Ortiz Reyes Costa Sousa Bauer Keller
        Vogel Huber Wolf Lang Krause Lin Liu Zhao Huang Wu Xu Sun Ma Choi Jung Kang Ito Mori Kato Rao Iyer
        Mehta Banerjee Sharma O'Brien McCarthy Mac_Donald D'Angelo""",
    "name_head": """
        Al Ber Car Dor El Fal Gar Hal Jan Kar Lam Mar Nor Ost Pal Ram Sal Tor Val Wal Bren Chak Dzi Fitz
        Grun Hag Kos Lind Mat Nak Ol Pet Rod Schw Tak Ul Vas Wein Yam Zim Kre Stef Bo Du Fu Ko Mi Ta Sri
        Hoff Grif Bal Cher Des Esk Gold Hol Kir Lov Mont New Rosen Stan Thor Whit Ash Black Cald Den East
        Farn""",
    "name_mid": "a i o er en an in ov el is ar um ad al at es ich on und ri",
    "name_tail": """
        son man berg ov sky ini er ton ez ford ura moto stein ley sen ska wala escu oglu mann ham enko
        well nen idis ers elli wood ault bach ski ic rath nath ert kin field ström eira ano aki uchi dale
        by gaard iou yan shvili baum quist sma stra land""",
    "given_name": """
        John Maria David Wei Anna Michael Robert Susan Peter James Hiroshi Elena Thomas Laura Paul Mark
        Carlos Christine Rajesh Daniel William Karen Andreas Yuki Richard Sarah Stefan George Linda Ahmed
        Kevin Julia Giovanni Eric Barbara Hans Pierre Ming Alice Martin Ingrid Steven Nina Joseph Helen
        Jorge Frank Olga Sanjay Henrik Edward Ruth Takashi Marc Irene Alan Claire Dmitri Brian Monica Jean
        Philip Eva Ravi Scott Diana Luis Ann Charles Fatima Bruno Leila Gregory Mei Jean-Paul Anne-Marie
        Walter Sophie Tim Omar Ivan Keith Naomi Lars Amy Roger Xin Douglas Petra Neil Vera Hugo Grace Ralf
        Joan Simon Yoshio Ken Rosa""",
    "initial": "J M A R S D P C K L T E H G B W F N V I Y O Z U Q X",
    "particle": "van de von van_der de_la Van Le Di El",
    "adj": """
        parallel distributed efficient optimal fast dynamic neural adaptive logical real-time
        probabilistic robust object-oriented incremental concurrent hierarchical genetic symbolic linear
        fault-tolerant interactive secure visual mobile scalable fuzzy statistical recursive stochastic
        asynchronous relational large-scale discrete temporal nonlinear generic static hybrid sparse
        uniform local global qualitative high-level randomized deterministic heterogeneous partial
        functional semantic continuous Bayesian declarative causal approximate autonomous modular
        collaborative spatial associative greedy explicit formal minimal polynomial weighted combinatorial
        compositional cooperative active simple lazy Boolean abstract geometric integrated intelligent
        reactive bounded higher-order multiple noisy practical Gaussian Markov hidden lightweight massive
        opportunistic portable quantum reliable shared stable structured three-dimensional universal
        unstructured virtual weak wide-area""",
    "thing": """
        system network model algorithm program language database machine graph process image agent
        constraint query tree compiler architecture type rule robot user function cache protocol proof
        theory text processor specification grammar signal decision scheduler parser index message
        interface array object event feature pattern concept file transaction document kernel thread
        polynomial clause state belief lattice polygon surface sensor circuit bus switch router packet
        stream shape face texture hypercube pipeline register branch disk heap pointer closure module
        component class schema view trigger version replica lock clock failure key cipher password channel
        queue workload benchmark game market auction plan goal action case analogy dialogue word sentence
        corpus ontology taxonomy gene protein sequence terrain""",
    "stuff": """
        data logic knowledge memory learning search information software code speech planning vision
        motion rewriting hypertext garbage traffic video trust weather""",
    "stem": """
        optim general parallel token vector special synchron normal serial random regular virtual linear
        central global local priorit visual symbol model final categor summar memo minim maxim discret
        stabil factor quant polar modular initial custom tabul harmon triangul""",
    "izing": "ization izing izer ized izable ization ization",
    "verb_stem": """
        schedul comput allocat coordinat simulat approximat induc estimat integrat generat animat evaluat
        prun cach trac merg shar prov combin reus measur encod updat compil cluster extract restructur
        inferr navigat learn index filter plann match recogniz detect mapp rout model test debugg migrat
        stor pars partition check monitor sampl""",
    "affix": """
        based driven oriented aware free level preserving centered directed specific guided independent""",
    "prefix": "multi non semi hyper meta sub inter super micro co self- re- pre quasi- bi cross-",
    "task": """
        classification recognition scheduling planning retrieval verification optimization allocation
        inference segmentation routing compression compilation diagnosis debugging simulation clustering
        control parsing synchronization navigation translation induction prediction abstraction
        visualization load_balancing resource_management evaluation specialization interpolation
        decomposition garbage_collection alignment unification broadcast matching prefetching replication
        encryption reconstruction refinement testing fault_diagnosis speech_synthesis theorem_proving
        feature_selection type_checking code_generation mutual_exclusion data_mining group_communication
        concept_formation""",
    "study": """
        approach study analysis framework method overview survey model perspective comparison tutorial
        theory introduction case_study progress_report formal_treatment position_paper critique experiment
        proposal tool retrospective new_look""",
    "field_of": """
        Artificial_Intelligence Computer_Science Machine_Learning Software_Engineering Parallel_Processing
        Neural_Networks Programming_Languages Distributed_Computing Computer_Vision Database_Systems
        Operating_Systems Robotics_and_Automation Logic_Programming Information_Retrieval
        Computer_Architecture Pattern_Recognition Computational_Linguistics Cognitive_Science
        Computer_Graphics Communications Information_Theory Theoretical_Computer_Science
        Knowledge_Engineering Real-Time_Systems Human_Factors Signal_Processing Algorithms
        Discrete_Mathematics Computational_Geometry Cryptography Fuzzy_Systems Genetic_Algorithms
        Multimedia Computer_Networks Expert_Systems Automated_Deduction Formal_Methods Applied_Mathematics
        Statistics Numerical_Analysis Operations_Research Cybernetics Natural_Language
        Fault-Tolerant_Computing Supercomputing Very_Large_Data_Bases Complexity_Theory Simulation
        Performance_Evaluation Hypertext Mobile_Computing Bioinformatics Compiler_Construction
        Scientific_Computing Functional_Programming Object-Oriented_Systems Digital_Libraries Agents
        Control Evolutionary_Computation Symbolic_Computation Data_Mining VLSI_Design Microprocessors""",
    "field_short": """
        Artif._Intell. Comput._Sci. Softw._Eng. Parallel_Distrib._Syst. Neural_Netw. Prog._Lang. Comput.
        Database_Syst. Robot._Autom. Inf._Theory Pattern_Anal. Comp._Ling. Graph. Commun. Knowl._Eng.
        Math. Signal_Process. Algorithms Discrete_Math. Comp._Geom. Control Appl._Math. Stat. Numer._Anal.
        Oper._Res. Networking Syst._Man_Cybern. Simul. Info._Sys. Program. Cogn._Sci. VLSI Electron. Phys.""",
    "society": "ACM IEEE European National USENIX SIAM IFIP Asian AAAI Joint British IEE",
    "publisher_name": """
        Springer-Verlag MIT_Press Addison-Wesley Academic_Press Morgan_Kaufmann Prentice_Hall Elsevier
        John_Wiley North-Holland Cambridge_University_Press Springer McGraw-Hill
        IEEE_Computer_Society_Press ACM_Press Kluwer_Academic_Publishers Oxford_University_Press Wiley
        W._H._Freeman Pergamon Lawrence_Erlbaum Benjamin Chapman_and_Hall World_Scientific CRC_Press
        Pitman IOS_Press Macmillan Plenum_Press Birkhäuser AAAI_Press Marcel_Dekker Dover
        Computer_Science_Press O'Reilly Houghton_Mifflin Van_Nostrand""",
    "us_place": """
        Boston,_MA San_Francisco,_CA New_York,_NY Chicago,_IL Cambridge,_Massachusetts Seattle,_WA
        Austin,_TX San_Diego,_California Pittsburgh,_PA Atlanta,_GA Portland,_Oregon Denver,_CO
        Philadelphia,_Pennsylvania Washington,_D.C. Los_Angeles,_CA New_York,_N.Y. Princeton,_N.J.
        Berkeley,_CA Ithaca,_NY Madison,_WI Tucson,_Arizona Santa_Fe,_NM Houston,_Texas Minneapolis,_MN
        Baltimore,_Maryland Orlando,_FL Phoenix,_AZ Reading,_MA Monterey,_CA Ann_Arbor,_Michigan
        Palo_Alto,_California Menlo_Park,_CA Providence,_RI Salt_Lake_City,_Utah Dallas,_TX
        Las_Vegas,_Nevada Boulder,_Colorado Honolulu,_Hawaii""",
    "world_place": """
        Paris,_France London,_UK Berlin,_Germany Amsterdam,_The_Netherlands Tokyo,_Japan
        Edinburgh,_Scotland Vienna,_Austria Toronto,_Canada Munich,_West_Germany Rome,_Italy
        Stockholm,_Sweden Sydney,_Australia Zurich,_Switzerland Brussels,_Belgium Barcelona,_Spain
        Copenhagen,_Denmark Vancouver,_Canada Milan,_Italy Cambridge,_England Montreal,_Quebec
        Budapest,_Hungary Prague,_Czech_Republic Singapore Kyoto,_Japan Geneva,_Switzerland
        Lisbon,_Portugal Oxford,_U.K. Melbourne,_Australia Helsinki,_Finland Madrid,_Spain
        Heidelberg,_Germany Dublin,_Ireland Haifa,_Israel Athens,_Greece Warsaw,_Poland Oslo,_Norway
        Lyon,_France Delft,_Holland Bombay,_India Beijing,_China Seoul,_Korea Santiago,_Chile
        Linz,_Austria Aarhus,_Denmark Glasgow,_Scotland Hamburg,_Germany Leuven,_Belgium
        Cape_Town,_South_Africa Ljubljana,_Slovenia""",
    "country": "Germany France UK Italy Japan England Canada Spain Sweden India Brazil Greece Poland Israel",
    "region": """
        California Illinois Texas Massachusetts Washington Maryland Michigan Wisconsin Toronto Edinburgh
        Pennsylvania Utah Oregon Minnesota London Cambridge Arizona Colorado Manchester Copenhagen
        Melbourne Amsterdam Tokyo Bristol Leeds Oslo Helsinki Florida Ottawa Kent Sussex Queensland
        Zaragoza Bologna""",
    "month": "June July May August September October April March November December January February",
    "mon": "June July May Aug. Sept. Oct. Apr. Mar. Nov. Dec. Jan. Feb. Jun. Jul.",
    "letter": "a b a c S P C L T R M D I A K N E G V O W F X B",
    "vowel": "a e i o u",
    "onset": "k m r s t l p d n z v g br tr h f j sp w st",
    "coda": "n r s x l m t k ra rix lo tor net log",
    "word_number": """
        First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh Twelfth Thirteenth
        Fourteenth Fifteenth""",
    "small_number": "1 2 3 4 5 6 7 8 9 10 11 12",
    "digit": "1 2 3 4 5 6 7 8 9 0",
    "ordinal": """
        2nd 3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th 13th 14th 15th 16th 17th 18th 19th 20th 21st 1st""",
    "roman": "II III I IV V",
}

RULES = {
    # people
    "surname": """
        {common_surname}|{common_surname}|{name_head}{name_tail}|{common_surname}
        |{name_head}{name_mid}{name_tail}|{name_head}{name_tail}|{compound}|{common_surname}""",
    "compound": """
        {particle} {common_surname}|{name_head}{name_tail}-{common_surname}
        |{particle} {name_head}{name_tail}""",
    # titles, in the case of a sentence but for its first letter
    "title": """
        {np} for {nps}|{gerund} {nps}|{lead} {nps}|{np} for {task}|{nps}: {sub}|{gerund} {nps} {tail}
        |{adj} {tasks} {tail}|{task} of {nps} {tail}|{task} in {nps}|{coined}: {np} for {tasks}
        |{lead} {task} {tail}|{gerund} {tasks}: {sub}|{np} {tail}|{nps} and {nps}|the {noun} {study}
        |the {task} of {nps} {tail}|{question}|{nps} as {tasks}: {sub}|{adj} {tasks}
        |{coined} {version} {manual}|{gerund}, {gerund} and {gerund}: {sub}|{person_s} {noun} and {nps}
        |{subject}|{subject}: {sub}""",
    "noun": "{thing}|{thing}|{stuff}|{thing}",
    "np": """
        a {adj} {study} to {tasks}|a {noun} {study} {tail}|a {adj} {noun} for {nps}|a {jargon} {noun}
        |the {noun} of {nps}|a {adj} {noun} {noun}|{article} {noun} {study} with {nps}
        |a {noun} {study} of {nps}""",
    "nps": """
        {adj} {nouns}|{noun} {nouns}|{jargon} {nouns}|{adj} {noun} {nouns}|{nouns}|{jargon} {task}
        |{adj} and {adj} {nouns}|{nouns} and {nouns}|{coined} {nouns}|{nps} with {nouns}
        |{adj}, {adj} {nouns}""",
    "nouns": "{thing}s|{noun} {thing}s|{task}|{thing}s|{stuff}|{jargon} {thing}s",
    "tasks": "{task}|{adj} {task}|{noun} {task}|{jargon} {task}|{task} and {task}",
    "jargon": """
        {noun}-{affix}|{stem}{izing}|{verb_stem}ing|{prefix}{noun}|{stem}{izing}|{prefix}{adj}
        |{prefix}{verb_stem}ing|{name_head}{name_tail}|{coined}|{noun}-to-{noun}|{verb_stem}ed
        |{verb_stem}able""",
    "gerund": """
        {verb_stem}ing|using|{stem}izing|{prefix}{verb_stem}ing|understanding
        |{verb_stem}ing and {verb_stem}ing|building|on {verb_stem}ing|toward {verb_stem}ing|exploiting
        |beyond|reasoning about""",
    "lead": """
        on the {task} of|on|an introduction to|towards|the complexity of|a note on|issues in|some {adj}
        |principles of|the design and implementation of|experiments with|a survey of|advances in
        |foundations of|bounds for|what is wrong with|the role of {thing}s in|a {study} of|learning
        |the {common_surname} theory of|notes on|readings in|an {adj} theory of|lessons from""",
    "tail": """
        in {nps}|using {nps}|for {tasks}|with {nps}|under {nps}|on {noun} machines|by {verb_stem}ing
        |via {tasks}|through {jargon} {task}|from {thing}s|without {nps}|(extended abstract)|over {thing}s
        |in {coined}|in {year}|, part {roman}|in the {thing}s of {city}|and its {tasks}|to {nps}""",
    "sub": """
        a {study}|a {adj} {study}|a {noun}-{affix} {study}|{np}|the {coined} {study}|{nps}
        |{study} and {study}|theory and practice|a {study} of {nps}|{lead} {nps}
        |concepts, {nouns} and {nouns}""",
    "question": """
        do {nps} help {tasks}?|is {task} {adj}?|how {nps} learn|what {nouns} can do for {nps}
        |why {nps} fail|when are {nps} {adj}?|can {nouns} be {adj}?""",
    "subject": """
        {field_of_low}|{field_of_low} and {field_of_low}|{field_of_low} in {coined}
        |{field_of_low} for {nouns}|{adj} {field_of_low}|{small_number} lessons in {field_of_low}""",
    "article": "a|the|another|one",
    "person_s": "{surname}'s|{surname}|{given_name}'s",
    "coined": """
        {onset}{vowel}{coda}|{acronym}|{onset}{vowel}{onset}{vowel}{coda}|{acronym}-{small_number}
        |{onset}{vowel}{coda}{noun}|C++|{acronym}/{small_number}|Prolog|Fortran|Lisp|Unix|Ada""",
    "acronym": "{cap}{cap}{cap}|{cap}{cap}{cap}{cap}|{cap}{cap}{cap}{cap}{cap}|{cap}{cap}",
    "version": "{small_number}.{digit}|version {digit}|{roman}|{year}",
    "manual": "reference manual|user's guide|language definition|primer|report",
    # where it appeared
    "meeting": """
        {nth} {society} {event} on {field_of}|{society} {event} on {field_of}|{nth} {event} on {field_of}
        |{nth} {society} {event} on {field_of} and {field_of}|{year} {society} {event} on {field_of}
        |{event} on {topic}|{nth} {society} {event} on {field_of}|{society} {field_of} {event}
        |{nth} {acronym} {event}|{nth} {society} {event} on {field_of} ({acronym})
        |{acronym}-{yy} {event} on {topic}|{society} {acronym} '{yy} {event} on {field_of}
        |{year} {event} on {topic}|{event} on {topic} ({acronym}'{yy})""",
    "topic": """
        {field_of}|{Adj} {Nouns}|{Noun} {Task}|{Noun} and {Nouns}|{field_of} and {Adj} {Nouns}
        |{Jargon} {Task}""",
    "event": """
        Conference|International Conference|Symposium|Workshop|International Workshop
        |International Symposium|Meeting""",
    "nth": "{word_number}|{ordinal}|{ordinal} Annual|{word_number} Annual",
    "brief": """
        {acronym}-{yy}|{acronym} '{yy}|{acronym}'{yy}|{society} {acronym}|{acronym}
        |{society} {event} {field_short}|{society} {acronym} {year}|{event} {field_short}
        |{nth} {society} Conf. {field_short}|{society} Symp. {field_short}|Conf. on {field_of}
        |Int. Conf. on {field_of}|{nth} Symp. on {field_of}|{field_of} {yy}""",
    "series": """
        Lecture Notes in Computer Science|LNCS {digit}{digit}{digit}
        |volume {digit}{digit} of Lecture Notes in {field_of}|Studies in {field_of}
        |{publisher_name} Series in {field_of}|Vol. {digit}{digit}{digit}, LNAI""",
    "collection": """
        {field_of}|{Adj} {Nouns}|Handbook of {topic}|{topic}: {Lead} {topic}|Advances in {field_of}
        |{Nouns} and {Nouns}|Readings in {field_of}|{Lead} {topic}|The {Noun} {Study}
        |{field_of} {small_number}|Encyclopedia of {field_of}|Perspectives on {topic}|{topic}""",
    "journal": """
        Journal of {field_of}|IEEE Transactions on {field_of}|{field_of}|ACM Transactions on {field_of}
        |International Journal of {field_of}|{field_of} Letters|Communications of the ACM
        |{field_of} Journal|Annals of {field_of}|Journal of {field_of} and {field_of}|{society} {field_of}
        |Journal of the ACM|{field_of} Review|{society} Computer|{Noun} and {Noun}
        |Journal of the {society} Society|{field_of} Quarterly|Acta Informatica|Bulletin of the {society}
        |SIG{cap}{cap}{cap}{cap} Notices|Computing Surveys|{Adj} {Nouns}|{Noun} Magazine
        |Proceedings of the IEEE|{field_of}: {Noun} and {Noun}|Nature|{region} {field_of} Journal""",
    "journal_short": """
        IEEE Trans. {field_short}|J. {field_short}|IEEE Trans. on {field_of}|J. of {field_of}
        |ACM Trans. {field_short}|Comm. ACM|CACM|Int. J. {field_short}|J. ACM|{field_short} Lett.
        |IEEE Tr. {acronym}|{acronym}|SIAM J. {field_short}|Proc. IEEE|Annals {field_short}
        |{society} Trans. {field_short}|{field_short}|IEEE {Noun} Mag.|Bull. {society} {field_short}
        |Z. {field_short}""",
    # who published it, and where
    "publisher": """
        {publisher_name}|{common_surname} Press|{common_surname} and {common_surname}
        |{region} University Press|{surname} & Sons|{publisher_name}, Inc.|{name_head}{name_tail} Verlag
        |{publisher_name} Ltd.|{city} Academic Publishers|{publisher_name} Publishing Company
        |{society} Press""",
    "location": """
        {us_place}|{world_place}|{us_place}|{city}|{city}|{world_place}|{us_place}, USA|{country}
        |{name_head}{town}, {country}|{city} and {city}""",
    "place": "{world_place}|{us_place}",
    "town": "burg|ville|ton|stadt|heim|ona|ia|mouth|borg",
    "university": """
        University of {region}|{surname} University|{region} State University
        |Technical University of {region}|{region} Institute of Technology|Univ. of {region}
        |{city} University|University of {region}, {city}|Universität {name_head}{town}|{surname} College
        |Université de {city}|{acronym}|Univ. {region}""",
    "lab": """
        {surname} Research Center|{acronym} Laboratories|{surname} Labs|{acronym} Corporation
        |{region} Research Laboratory|{acronym} AI Laboratory|Institute for {field_of}
        |{acronym} Systems Research Center|{surname} Corp.|Naval Research Laboratory
        |{surname} Institute of {field_of}|{acronym}""",
    "dept": """
        Department of Computer Science|Dept. of Computer Science|Computer Science Department
        |School of {field_of}|Dept. of {field_of}|Department of {field_of}|{field_of} Group
        |Faculty of {field_of}|Center for {field_of}|Laboratory for {field_of}|Computer Science Dept.
        |Institut für Informatik|{field_of} Laboratory""",
    "institution": """
        {dept}, {university}|{university}|{lab}|{dept}, {university}|{university}, {dept}
        |{lab}, {university}""",
    "report": """
        Technical Report {code}|Technical Report {code}|Technical report|Tech. Rep. {code}
        |Research Report {code}|Technical Report No. {code}|Report {code}|Technical Memorandum {code}
        |TR {code}|Working Paper {code}|{acronym} Memo {code}|Tech. Report {code}
        |{university} Technical Report {code}|Internal note {code}|Preprint|{code}
        |RFC {digit}{digit}{digit}{digit}|Deliverable {code}, {acronym} project|Memo No. {code}""",
    "code": """
        {yy}-{digit}{digit}|{cap}{cap}-{cap}{cap}-{yy}-{digit}{digit}|TR-{digit}{digit}{digit}
        |{cap}{cap}{cap}-{digit}{digit}{digit}|{digit}{digit}{digit}|CS-{yy}-{digit}{digit}
        |{cap}{cap}/{yy}/{digit}|{digit}{digit}{digit}{digit}|#{digit}{digit}{digit}
        |{acronym}-TR-{yy}-{digit}{digit}|{cap}{cap} {digit}{digit}{digit}""",
    "thesis": """
        PhD thesis|Ph.D. thesis|Master's thesis|Ph.D. dissertation|PhD Thesis|Doctoral dissertation
        |M.S. thesis|Unpublished doctoral dissertation|Diploma thesis|Ph. D. Dissertation
        |Licentiate thesis""",
    # everything else
    "note": """
        to appear|in press|submitted|submitted for publication|to appear in {journal}
        |unpublished manuscript|{url}|available at {url}|in preparation|Personal communication|forthcoming
        |(in German)|extended abstract|Also available as {report}|Invited talk|submitted to {journal}
        |URL: {url}|accepted|draft of {mon} {year}|See also {url}|Second edition|(abstract only)
        |To be presented at {brief}|available by anonymous ftp from {host}|Reprinted in {collection}
        |Supersedes {report}|manuscript|(with discussion)|video""",
    "url": """
        http://www.{host}/~{login}/{login}.ps|ftp://ftp.{host}/pub/{noun}/{login}{yy}.ps.Z
        |http://www.{host}/|http://{host}/papers/{noun}.html|www.{host}/{login}""",
    "host": """
        cs.{onset}{vowel}{coda}.edu|{onset}{vowel}{coda}.com|{onset}{vowel}{onset}{vowel}.ac.uk|{noun}.org""",
    "login": "{onset}{vowel}{coda}|{onset}{vowel}{onset}{vowel}|{noun}",
}
