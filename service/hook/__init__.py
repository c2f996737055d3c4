"""Git's hook prepare-commit-msg: the message of a commit, drafted from the staged change before the editor opens."""

LONGEST_WAIT = 600.0  # seconds that a commit may wait for its draft, which may so be later than the commit's date
