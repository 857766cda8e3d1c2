from collections import Counter
from pathlib import Path
from typing import Any

from evener.agents.record.run import RunFolder
from evener.demo import demo_config
from evener.estimate import estimate

STAGES = {
    "confirm": "gate",
    "model": "gate",
    "collect": "collecting",
    "lighter": "lighter harnesses",
    "watch": "later looks",
}


def test_a_run_takes_no_more_episodes_than_were_announced(support: Any, master: Path) -> None:
    plan = support.two_rounds(support.small_config()).plan
    most = {stage.name: stage.rollouts for stage in estimate(plan, arms=1).stages}
    spent: Counter[str] = Counter()
    with RunFolder.read(master) as folder:
        for body in folder.record.bodies("spent"):
            spent[STAGES.get(str(body["stage"]), "searching")] += int(str(body["rollouts"]))
    searching = most.pop("mining") + most.pop("racing") + most["gate"]
    assert spent.keys() == {"searching", *STAGES.values()}
    assert spent.pop("searching") + spent["gate"] <= searching
    assert all(count <= most[stage] for stage, count in spent.items())


def test_every_trial_and_look_of_a_plan_is_in_its_estimate() -> None:
    plan = demo_config().plan
    search = plan.search.model_copy(update={"lighter": 1, "race_rollouts": 3, "proposals": 8})
    trials = plan.trials.model_copy(update={"watch": 10, "rollouts": 100})
    plan = plan.model_copy(update={"search": search, "trials": trials})
    most = {stage.name: stage.rollouts for stage in estimate(plan, arms=1).stages}
    assert most["gate"] == (2 + 1 + 1) * 100  # the search, its confirmation, the model
    assert most["racing"] == 2 * 8  # one episode each, whatever the budget
    assert most["lighter harnesses"] == 2 * search.race_tasks * (1 + 8) + 100
    assert most["later looks"] == 2 * 10
