"""The base that all of PEARL shares: records, settings, chat models, prompt templates, the command line."""

import sys

__version__ = "0.1.0"

# the versions for which every library that PEARL needs comes as a wheel
OLDEST, NEWEST = (3, 11), (3, 14)

if not OLDEST <= sys.version_info[:2] <= NEWEST:
    # in words that every Python reads
    sys.exit("pearl: PEARL needs Python 3.11 to 3.14; this is Python " + ".".join(map(str, sys.version_info[:2])) + ".")
