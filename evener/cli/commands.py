"""Every command module, attached to the app. The modules themselves import nothing heavy."""


def attach() -> None:
    """Register the commands; importing a module does it."""
    from evener.cli import (
        compare,
        detectors,
        doctor,
        evaluate,
        gate,
        graph,
        harness,
        matrix,
        models,
        report,
        run,
        trajectories,
    )

    _ = (
        compare,
        detectors,
        doctor,
        evaluate,
        gate,
        graph,
        harness,
        matrix,
        models,
        report,
        run,
        trajectories,
    )
