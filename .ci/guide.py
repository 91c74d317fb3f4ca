"""Runs the commands of a guide, in the order of the text, in one bash, and compares what they print with what the text shows.

A block is run if it is fenced without a language. Where a line begins with `$ `, that is the command, and the other lines are what
it prints: `...` stands for anything, long lines may be wrapped, and times in seconds may differ. A comment before a block says
what is special about it:

    <!-- ci: skip WHY -->       not run here
    <!-- ci: file NAME -->      the block is the content of a file
    <!-- ci: changed A B -->    the file B is A with these lines instead of those with the same key
    <!-- ci: serve -->          goes on until it is stopped; must say where it listens
    <!-- ci: exit N -->         the last command ends with this code
"""

import os
import re
import signal
import subprocess
import sys
import time

BLOCK = re.compile(r"(?:<!-- ci: (?P<how>[^\n]*?) -->\n+)?^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.S | re.M)
END = "== end of block"
REPOSITORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Shell:
    """One bash for the whole guide, so that functions and folders stay."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )

    def run(self, commands):
        """What the commands print, and the exit code of the last; the first that fails ends the block."""
        self.process.stdin.write(f"{{ {commands}\n}} </dev/null\ncode=$?; echo; echo '{END}' $code\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(END):
                return "".join(lines), int(line.split()[-1])
            lines.append(line)
        return "".join(lines), self.process.wait()


def chained(body):
    """Commands one after the other, as long as they succeed; continued lines belong together."""
    commands = re.sub(r"\\\n\s*", "", body).strip().split("\n")
    return " && \\\n".join(c for c in commands if c.strip())


def from_here(commands):
    """The same commands for another folder than the repository: what cargo runs is built where it always is."""
    commands = commands.replace("--manifest-path ", f"--manifest-path {REPOSITORY}/")
    return re.sub(r"cargo run --release(?! --manifest)", f"cargo run --release --manifest-path {REPOSITORY}/Cargo.toml", commands)


def words(text):
    """Text without what may differ: line breaks, spaces, seconds."""
    return " ".join(re.sub(r"\b\d+(\.\d+)? s\b", "N s", text).split())


def missing(shown, printed):
    """The first part of what the text shows that was not printed, in this order."""
    rest = words(printed)
    for part in re.split(r"(?<!\S)\.\.\.(?!\S)", shown):
        part = words(part)
        at = rest.find(part)
        if at < 0:
            return part
        rest = rest[at + len(part) :]
    return None


def serve(commands):
    """Starts something that goes on, waits for its address, and stops it as Ctrl-C would."""
    process = subprocess.Popen(
        ["bash", "-c", commands], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    first = ""
    for line in process.stdout:
        first += line
        if "http://" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=20)
    return first if "http://" in first else None


def main(path):
    # Where a shell started this in the background, Ctrl-C is ignored, and would be by everything that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    text = open(path).read()
    shell, functions, failures, count = Shell(), [], 0, 0
    for block in BLOCK.finditer(text):
        line = text[: block.start("body")].count("\n")
        how, body = (block["how"] or "").split(None, 1), from_here(block["body"])
        kind, rest = (how + ["", ""])[:2]
        if kind == "file":
            shell_dir, _ = shell.run("pwd")
            with open(os.path.join(shell_dir.strip(), rest), "w") as file:
                file.write(body)
            continue
        if kind == "changed":
            source, target = rest.split()
            place, _ = shell.run("pwd")
            content = open(os.path.join(place.strip(), source)).read()
            for changed in body.strip().split("\n"):
                key = re.escape(changed.split("=")[0].strip())
                content = re.sub(rf"^{key} *=.*$", changed, content, flags=re.M)
            with open(os.path.join(place.strip(), target), "w") as file:
                file.write(content)
            continue
        if block["language"] or kind == "skip":
            if kind == "skip":
                print(f"GUIDE.md:{line}: SKIPPED: {rest}")
            continue
        count += 1
        begin = time.time()
        if kind == "serve":
            place, _ = shell.run("pwd")
            found = serve("\n".join(functions + [f"cd {place.strip()}", body]))
            failed = None if found else "it did not say where it listens"
        else:
            functions += re.findall(r"^\w+\(\) \{.*\}$", body, re.M)
            asked = re.findall(r"^\$ (.*)$", body, re.M)
            commands = "\n".join(asked) if asked else body
            wanted = int(rest) if kind == "exit" else 0
            printed, code = shell.run(chained(commands))
            failed = None
            if code != wanted:
                failed = f"exit code {code}, not {wanted}:\n{printed[-3000:]}"
            elif asked:
                shown = re.sub(r"^\$ .*$", "...", body, flags=re.M)
                part = missing(shown, printed)
                if part is not None:
                    failed = f"this is shown and was not printed: {part}\nThis was:\n{printed[-3000:]}"
        first = body.strip().split("\n")[0]
        print(f"GUIDE.md:{line}: {'FAILED' if failed else 'ok'} ({time.time() - begin:.1f} s): {first}", flush=True)
        if failed:
            failures += 1
            print(failed, flush=True)
    print(f"{count} blocks, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
