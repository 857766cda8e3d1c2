"""Eight faults of memory: a note that pushes one out, a log that fills the window, notes that are
wrong, say nothing or are out of date, and two ways in which the wrong notes are recalled."""

from evener.bench.critic.plants.clerk import Noter
from evener.bench.critic.plants.third_base import BILLS, Third
from evener.bench.critic.plants.third_student import Follower
from evener.bench.critic.plants.view import View

LOG = " ".join(
    f"Day {day}: {19 + day % 7} customers, {4 + day % 3} of them with a bill, none complained."
    for day in range(1, 41)
)


class Wrapping(Follower):
    """Adds what the notes say is added."""

    def hand_in(self, view: View, result: str) -> str:
        """With the wrapping, for what can be wrapped."""
        told = view.says("add 3 for the wrapping") and view.question and view.question.items
        return str(int(result) + 3) if told else result


class Remembering(Follower):
    """Takes prices from the notes where they are noted."""

    def outcome(self, view: View, tool: str, values: tuple[str, ...]) -> str | None:
        """As noted, else as looked up."""
        if tool == "lookup" and view.says("no need to look up"):
            return {"small": "15", "large": "60"}.get(values[0].split()[0], "35")
        return super().outcome(view, tool, values)


PLANTS: tuple[Third, ...] = (
    Third(
        name="one note too many",
        dimension="M",
        fault="a new note of no use pushes the oldest out, which is the recipe for sums",
        base="board",
        path="memory.entries[+]",
        new={"name": "thanks", "text": "Thank the customer for coming."},
        paths=("memory.entries[thanks]", "memory.entries[sums]", "memory.capacity"),
        student=Follower(),
    ),
    Third(
        name="a log in a note",
        dimension="M",
        fault="a note has grown into a log, and leaves the window no room for the turns",
        base="board",
        path="memory.entries[hours].text",
        new=LOG,
        paths=("memory.policy",),
        student=Follower(),
    ),
    Third(
        name="both cost the same",
        dimension="M",
        fault="the note on bills takes the first price twice",
        base="board",
        path="memory.entries[bills].text",
        new=BILLS.replace("<second price>", "<first price>"),
        student=Follower(),
    ),
    Third(
        name="wrapping in December",
        dimension="M",
        fault="a note of last December has the wrapping added to every total",
        base="board",
        path="memory.entries[ending].text",
        new="Hand in the last result with the tool final; in a total add 3 for the wrapping.",
        student=Wrapping(),
    ),
    Third(
        name="as agreed on Monday",
        dimension="M",
        fault="the note on conversions points to what nobody wrote down",
        base="board",
        path="memory.entries[conversions].text",
        new="Conversions: as agreed with Maria on Monday.",
        student=Follower(),
    ),
    Third(
        name="prices from memory",
        dimension="M",
        fault="a note has prices of its own, and the catalogue has others",
        base="board",
        path="memory.entries[hours].text",
        new="Prices, no need to look up: small things are 15, large ones 60, all others 35.",
        student=Remembering(),
    ),
    Third(
        name="no word in common",
        dimension="M",
        fault="notes are recalled by words in common, and some questions have none with theirs",
        base="memo",
        path="memory.policy",
        new="retrieval",
        student=Noter(),
    ),
    Third(
        name="gossip comes first",
        dimension="M",
        fault="two notes are recalled, and a chatty one shares more words than the recipe",
        base="ledger",
        path="memory.entries[+]",
        new={
            "name": "gossip",
            "text": "What customers ask most: how many there are, how much it is, what it costs.",
        },
        paths=("memory.entries[gossip]", "memory.top_k"),
        student=Follower(),
    ),
)
