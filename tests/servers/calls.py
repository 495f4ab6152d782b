"""A call of every method of the port."""

from dataclasses import dataclass

from headrace.client import models as m


@dataclass(frozen=True, kw_only=True)
class About:
    """What calls are about; ids of nothing unless told otherwise."""

    plan: str = "pl_nothing"
    waiting: str = "pl_nothing"
    digest: str = "0" * 64
    transfer: str = "tr_nothing"


def arguments(method: str, about: About) -> dict[str, object]:
    """Return the arguments of a call; a change is asked for in a way that nobody's call succeeds with."""
    intent = m.TransferIntent(action="copy", source="lab:/pia", destination="archive:/elsewhere")
    table: dict[str, dict[str, object]] = {
        "interpret": {"request": m.InterpretRequest(text="copy lab:/pia to archive:/elsewhere", plan=about.plan)},
        "create_plan": {"request": m.PlanRequest(intent=intent)},
        "plan": {"plan": about.plan},
        "confirm_plan": {"plan": about.waiting, "confirmation": m.Confirmation(digest=about.digest)},
        "approve_plan": {
            "plan": about.waiting,
            "approval": m.Approval(digest=about.digest, verdict="refused"),
        },
        "drop_plan": {"plan": about.plan},
        "why": {"plan": about.plan},
        "losses": {"plan": about.plan},
        "submit": {"request": m.SubmitRequest(plan_digest=about.digest)},
        "transfer": {"transfer": about.transfer},
        "control": {"transfer": about.transfer, "request": m.ControlRequest(action="cancel")},
        "watch": {"transfer": about.transfer},
        "changes": {"after": 0},
        "transfer_events": {"transfer": about.transfer},
        "diagnose": {"transfer": about.transfer},
        "measured": {"transfer": about.transfer},
        "probed": {"transfer": about.transfer},
        "throughput": {"transfer": about.transfer},
        "node_host": {"node": "left"},
        "node_throughput": {"node": "left"},
        "failed_files": {"transfer": about.transfer},
        "receipt": {"receipt": about.transfer},
        "receipt_files": {"receipt": about.transfer},
        "update_endpoint": {"endpoint": "nowhere", "update": m.EndpointUpdate(labels={})},
        "remove_endpoint": {"endpoint": "nowhere"},
        "browse": {"endpoint": "lab", "path": "/pia"},
        "create_join_token": {"request": m.JoinTokenRequest(name="third")},
        "drain_node": {"node": "nowhere", "drain": True},
        "revoke_node": {"node": "nowhere"},
        "rotate_node": {"node": "nowhere", "request": m.RotationRequest()},
        "remove_node": {"node": "nowhere"},
        "halt": {"request": m.HaltRequest(scope="transfer", subject="tr_nothing", reason="x")},
        "release_halt": {"halt": "ht_nothing"},
        "check_policy": {"text": m.PolicyText(text="x")},
        "policy_needs": {},
        "guided_rules": {"asked": m.GuidedRequest(need="assistants-copy")},
        "simulate_policy": {"text": m.PolicyText(text="x")},
        "who_may": {"asked": m.WhoMayRequest(source="lab:/")},
        "propose_policy": {"text": m.PolicyText(text="x")},
        "withdraw_policy": {"version": "99"},
        "publish_policy": {"version": "99"},
        "check_qos": {"text": m.QosText(text="x")},
        "propose_qos": {"text": m.QosText(text="x")},
        "withdraw_qos": {"version": "99"},
        "publish_qos": {"version": "99"},
        "invite": {"request": m.InvitationRequest(name="x", roles=["nothing"])},
        "create_service_account": {"request": m.ServiceAccountRequest(name="x", roles=["nothing"])},
        "disable_person": {"person": "pn_nobody"},
        "enable_person": {"person": "pn_nobody"},
        "update_person": {"person": "pn_nobody", "update": m.PersonUpdate(roles=["viewer"])},
        "link_identity": {"person": "pn_nobody", "link": m.IdentityLink(issuer="https://corp", subject="alice")},
        "unlink_identity": {"person": "pn_nobody", "link": m.IdentityLink(issuer="https://corp", subject="alice")},
        "propose_group_bindings": {"request": m.GroupBindingsRequest(bindings=[])},
        "publish_group_bindings": {"proposal": "gp_nothing"},
        "invite_again": {"person": "pn_nobody"},
        "change_password": {"change": m.PasswordChange(password="wrong", new_password="another long one")},  # noqa: S106
        "passkeys": {"person": "pn_nobody"},
        "add_passkey": {
            "request": m.PasskeyRequest(name="x", id="AAAA", client_data="AAAA", attestation_object="AAAA", kept="x")
        },
        "remove_passkey": {"passkey": "nothing"},
        "sessions": {"person": "pn_nobody"},
        "end_session": {"session": "se_nothing"},
        "create_token": {"request": m.TokenRequest(name="t", scopes=["nothing"])},
        "revoke_token": {"token": "tk_nothing"},
    }
    return table.get(method, {})
