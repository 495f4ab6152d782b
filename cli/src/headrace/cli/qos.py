"""Quality of service at the command line: which quotas there are, and what of them is used."""

from headrace.cli.card import local_time, quota_rows, table
from headrace.cli.command import Command, Json, run


def qos(*, json: Json = False) -> None:
    """Show the quotas that concern you, and those of places; operators, auditors and administrators see all."""

    def work(command: Command) -> None:
        found = command.wait(command.headrace.quotas())
        if not found:
            command.out.say("No quota concerns you.")
        else:
            rows = (
                (f"{one.of} {one.subject}", said, local_time(one.renews)) for one in found for said in quota_rows(one)
            )
            command.out.show(table(("quota of", "used", "next day"), rows))
        command.out.document(found)

    run(work, as_json=json)
