"""Git's hook prepare-commit-msg: the message of a commit, drafted from the staged change before the editor opens."""
