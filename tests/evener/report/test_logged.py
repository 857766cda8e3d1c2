from evener.protocols.summary import Arm, Control, Effect, PredictionLine
from evener.report.logged import arms, controls, effects, predictions


def test_lines_are_read_from_the_log_and_the_last_of_a_name_counts() -> None:
    first = Effect(version="v1", patch="a", model="m", split="held_out", fault="no patch")
    effect = first.model_copy(update={"difference": 0.1, "low": 0.02, "high": 0.2, "fault": ""})
    control = Control(
        name="sign flips", trials=1000, accepted=41, rate=0.041, low=0.03, high=0.055, pairs=60,
        seed=0,
    )  # fmt: skip
    line = PredictionLine(
        round=1, iteration=1, patch="a", fixes=9, fixes_true=3, breaks=2, breaks_true=0, fixed=4,
        broken=1,
    )  # fmt: skip
    later = line.model_copy(update={"round": 2})
    arm = Arm(name="trained_seed+seed", rollouts=120, rollout_limit=200, calls_per_task=2)
    assert effects([first.document(), effect.document()]) == (effect,)
    assert controls([control.document()] * 2) == (control,)
    assert predictions([line.document(), later.document(), line.document()]) == (line, later)
    assert arms([arm.document()]) == (arm,)
