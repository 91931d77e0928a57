"""What a session measured beside what was expected (expected.tsv), by the rules of decide.awk; and the state that it left,
for the next kit."""

import json
import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
STATE = HERE / "state.tsv"


def card_of(results):
    """As expected.tsv calls it; empty where the session did not get so far."""
    env = results / "env.json"
    gpu = json.loads(env.read_text()).get("gpu_model", "") if env.exists() else ""
    return next((card for card in ("h200", "h100") if card.upper() in gpu), gpu.replace(" ", "-"))


def decided(card, figures, form):
    done = subprocess.run(["awk", "-F\t", "-v", f"card={card}", "-v", f"as={form}", "-f", HERE / "decide.awk",
                           HERE / "expected.tsv", figures], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def print_session(results, figures):
    card = card_of(results)
    print(f"## Session on {card or 'an unknown card'}\n")
    print(decided(card, figures, "markdown"))
    print("## Keep or take back\n")
    print(decided(card, figures, "list") or "nothing was decided\n")


def take_in_state(returned, state=STATE):
    """Lines that the tree's state lacks, behind it. Returns how many."""
    known = state.read_text().splitlines() if state.exists() else []
    fresh = [line for line in returned.read_text().splitlines() if line not in known and not line.startswith("#")]
    if fresh:
        state.write_text("\n".join([*known, *fresh]) + "\n")
    return len(fresh)
