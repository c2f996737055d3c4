"""Git's hook prepare-commit-msg: drafts a commit's message from the staged change before the editor opens."""
