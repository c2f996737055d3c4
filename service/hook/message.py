"""The message file that git gives its hook: is a draft wanted, and how is it added?"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from pearl.errors import InputError
from service.process.git_process import git_answer, git_path

# variables of the services that build and test; no one sees a draft there
UNATTENDED = ("CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION")
NO_EDITOR = re.compile(
    r":|\[|true|false|test|exit|return|sleep|echo|printf|cat|touch|head|tail|sort|tac|wc|ls|grep|cd|export|set|unset|"
    r"umask|rm|chmod|date|[gm]?awk|git|perl|sed|gnome-open|start|xdg-open"
)
# programs that leave at once where one of their options matches
TOLD_TO_LEAVE = {
    **dict.fromkeys(("vi", "vim", "nvim", "ex"), re.compile(r"\+?:?(?:w?q|x|quit|exit)(?:a|all)?!?|-[eE]?s|-es")),
    **dict.fromkeys(("python", "python3", "ruby", "node"), re.compile(r"-[ce]|--eval\b.*")),
    "emacs": re.compile(r"--?batch"),
}
# these end at once and leave their window open, unless an option makes them wait for it
LEAVE_AT_ONCE = {
    *("atom", "bbedit", "code", "code-insiders", "codium", "cursor", "gvim", "kate", "mate", "mvim", "open", "subl"),
    *("charm", "idea", "phpstorm", "pycharm", "webstorm", "windsurf", "zed"),
}
WAITS = re.compile(r"--(?:wait|block|nofork)\b.*|-[A-Za-z]*[bfwW]")
BEFORE_PROGRAMS = re.compile(r"(?:.*/)?(?:busybox|command|env|exec|nice|nohup|setsid|sudo|time)|\w+=.*|-.*")
SHELL = re.compile(r"(?:.*/)?(?:ba|da|k|z)?sh")
HARMLESS = re.compile(r"\d*>>?\s*(?:&\d|/dev/(?:null|tty|std\w+))")  # redirections that keep nothing
SCRIPT_BYTES = 2_000  # of an editor that is a script; a longer one does something


def nobody_looks(repository: Path) -> bool:
    """True if no person would see a draft: git's editor exits by itself, or a build runs. Call it within a hook."""
    if any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in UNATTENDED):
        return True
    try:
        return _ends_by_itself(git_answer(repository, "var", "GIT_EDITOR", in_hook=True))
    except InputError:  # git knows no editor, and will stop
        return False


def _ends_by_itself(script: str, within_script: bool = False) -> bool:
    """True if a command line or shell script calls no editor that waits for a person."""
    try:
        commands = list(_commands(script))
    except ValueError:  # an open quote
        return False
    return bool(commands) and all(_is_no_editor(command, within_script) for command in commands)


def _commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each command, beginning with the program's name."""
    for line in HARMLESS.sub(" ", script).splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars=";&|")
        words.whitespace_split = True
        command: list[str] = []
        for word in (*words, ";"):
            if set(word) <= set(";&|"):
                if command:
                    yield command
                command = []
            elif command or not BEFORE_PROGRAMS.fullmatch(word):
                command.append(word)


def _is_no_editor(command: list[str], within_script: bool) -> bool:
    program, *options = command
    if SHELL.fullmatch(program) and options:
        program, *options = options
        if program == "-c":
            return _ends_by_itself("".join(options[:1]), within_script)
    path = Path(shutil.which(program) or Path(os.path.expandvars(program)).expanduser())
    names = {path.name, path.resolve().name}
    if any(map(NO_EDITOR.fullmatch, names)):  # with its output in a file the draft goes on to someone
        return not any(word.lstrip("0123456789").startswith(">") for word in options)
    if told := names & TOLD_TO_LEAVE.keys():
        return any(TOLD_TO_LEAVE[name].fullmatch(option) for name in told for option in options)
    if names & LEAVE_AT_ONCE:
        return not any(map(WAITS.fullmatch, options))
    return not within_script and _ends_by_itself(_shell_script(path), within_script=True)


def _shell_script(path: Path) -> str:
    """Return the content of a short shell script; "" for any other file."""
    try:
        content = path.read_bytes() if path.stat().st_size <= SCRIPT_BYTES else b""
    except OSError:
        return ""
    return content.decode(errors="replace") if re.match(rb"#!.*sh\s*\n", content) else ""


# files that git keeps while it makes commits by itself or continues one
UNDER_WAY = ("rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD")
SETTINGS = r"^(core\.comment(char|string)|i18n\.commitencoding)$"
TRAILER = re.compile(rb"[A-Za-z0-9-]+: \S")  # git commit --signoff and --trailer write them before the hook runs
CUT = b" ------------------------ >8 ------------------------"
NOTE = " PEARL drafted this message from the staged change. Edit it, or delete it to abort the commit."


def is_unwanted(repository: Path, source: str | None) -> bool:
    """True if no draft is wanted: git has a message or is in a rebase, cherry-pick, revert or merge, nobody would see
    the draft, or PEARL_NO_DRAFT is set."""
    if source or os.environ.get("PEARL_NO_DRAFT") or nobody_looks(repository):
        return True
    paths = [word for name in UNDER_WAY for word in ("--git-path", name)]
    answer = git_path(repository, "rev-parse", *paths, in_hook=True)
    return any((repository / line).exists() for line in answer.split("\n"))


def comment_mark(repository: Path) -> bytes:
    """Return the character with which git's comments begin. Raises InputError if commits are not in UTF-8. Call it
    within a hook."""
    mark = "#"
    try:
        answer = git_answer(repository, "config", "--get-regexp", SETTINGS, in_hook=True)
    except InputError:  # none is set
        return mark.encode()
    for line in answer.splitlines():
        name, _, value = line.partition(" ")
        if name == "i18n.commitencoding" and value.lower() not in ("utf-8", "utf8"):
            raise InputError(f"commits are in {value} here (i18n.commitEncoding), and drafts in UTF-8.")
        if name != "i18n.commitencoding" and value != "auto":
            mark = value
    return mark.encode()


def has_text(content: bytes, mark: bytes) -> bool:
    """True if the file already holds a message. Comments do not count, nor do trailers below an empty first line."""
    lines = content.partition(mark + CUT)[0].splitlines()  # below the cut stands the diff
    written = [line for line in lines if line.strip() and not line.startswith(mark)]
    return bool(written) and (bool(lines[0].strip()) or not all(map(TRAILER.match, written)))


def with_draft(content: bytes, mark: bytes, draft: str) -> bytes:
    """Return the file's content with the draft on top, and with a note among git's comments, if there are any."""
    # git would take a line that begins with the mark for a comment
    text = re.sub(rb"^(?=" + re.escape(mark) + rb")", b" ", draft.strip().encode(), flags=re.MULTILINE)
    first = re.search(rb"^" + re.escape(mark), content, re.MULTILINE)
    at = first.start() if first else len(content)
    written, comments = content[:at].lstrip(b"\r\n"), content[at:]
    if comments and not comments.startswith(mark + CUT):  # above a cut everything is text
        comments = mark + NOTE.encode() + b"\n" + mark + b"\n" + comments
    return text + b"\n\n" + written + comments
