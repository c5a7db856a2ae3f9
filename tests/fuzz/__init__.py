"""A campaign of made-up inputs: `python3 dev.py fuzz --minutes 10`, see `campaign`."""
