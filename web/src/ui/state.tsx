/** Status by icon and word as well as colour. */

import { Badge, type MantineColor } from "@mantine/core";
import {
  IconAlertTriangle,
  IconBan,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconClock,
  IconClockPause,
  IconFileSearch,
  IconHelpCircle,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlugConnected,
  IconPlugConnectedX,
  IconShieldCheck,
  IconUserCheck,
  type Icon,
} from "@tabler/icons-react";
import type { Decision, Node, Person, Plan, PlanState, PolicyVersion, Transfer, TransferState } from "../api/schema";
import { t } from "../i18n";

type Look = readonly [color: MantineColor, icon: Icon, word: string];

function State({ look: [color, Glyph, word] }: { look: Look }) {
  return (
    <Badge color={color} leftSection={<Glyph size={14} aria-hidden />}>
      {word}
    </Badge>
  );
}

export function transferLook(state: TransferState): Look {
  switch (state) {
    case "queued":
      return ["gray", IconCircleDashed, t("transfer.state.queued")];
    case "running":
      return ["water", IconPlayerPlay, t("transfer.state.running")];
    case "waiting":
      return ["orange", IconClockPause, t("transfer.state.waiting")];
    case "paused":
      return ["yellow", IconPlayerPause, t("transfer.state.paused")];
    case "complete":
      return ["green", IconCircleCheck, t("transfer.state.complete")];
    case "partial":
      return ["orange", IconAlertTriangle, t("transfer.state.partial")];
    case "failed":
      return ["red", IconCircleX, t("transfer.state.failed")];
    case "canceled":
      return ["gray", IconBan, t("transfer.state.canceled")];
  }
}

function planLook(state: PlanState): Look {
  switch (state) {
    case "surveying":
      return ["water", IconFileSearch, t("plan.state.surveying")];
    case "ready":
      return ["green", IconCircleCheck, t("plan.state.ready")];
    case "ask":
      return ["yellow", IconHelpCircle, t("plan.state.ask")];
    case "denied":
      return ["red", IconBan, t("plan.state.denied")];
    case "failed":
      return ["red", IconCircleX, t("plan.state.failed")];
    case "expired":
      return ["gray", IconClock, t("plan.state.expired")];
    case "dropped":
      return ["gray", IconBan, t("plan.state.dropped")];
  }
}

function decisionLook(outcome: Decision["outcome"]): Look {
  switch (outcome) {
    case "allowed":
      return ["green", IconShieldCheck, t("decision.allowed")];
    case "confirm":
      return ["yellow", IconHelpCircle, t("decision.confirm")];
    case "approve":
      return ["violet", IconUserCheck, t("decision.approve")];
    case "denied":
      return ["red", IconBan, t("decision.denied")];
  }
}

function nodeLook(state: Node["state"]): Look {
  switch (state) {
    case "attached":
      return ["green", IconPlugConnected, t("node.state.attached")];
    case "detached":
      return ["red", IconPlugConnectedX, t("node.state.detached")];
    case "draining":
      return ["yellow", IconClockPause, t("node.state.draining")];
    case "revoked":
      return ["gray", IconBan, t("node.state.revoked")];
  }
}

function policyLook(state: PolicyVersion["state"]): Look {
  switch (state) {
    case "proposed":
      return ["yellow", IconClock, t("policy.state.proposed")];
    case "active":
      return ["green", IconShieldCheck, t("policy.state.active")];
    case "retired":
      return ["gray", IconCircleDashed, t("policy.state.retired")];
    case "withdrawn":
      return ["gray", IconBan, t("policy.state.withdrawn")];
  }
}

function personLook(state: Person["state"]): Look {
  switch (state) {
    case "invited":
      return ["yellow", IconClock, t("person.state.invited")];
    case "active":
      return ["green", IconCircleCheck, t("person.state.active")];
    case "suspended":
      return ["orange", IconPlayerPause, t("person.state.suspended")];
    case "disabled":
      return ["gray", IconBan, t("person.state.disabled")];
  }
}

export const TransferBadge = ({ state }: { state: TransferState }) => <State look={transferLook(state)} />;
/** What was told last of a transfer's deadline; nothing while all is well, or once it ended in time. */
export function DeadlineBadge({ transfer: { deadline_told: told, ended } }: { transfer: Pick<Transfer, "deadline_told" | "ended"> }) {
  if (told === "missed") return <State look={["red", IconAlertTriangle, t("transfer.deadline.missed")]} />;
  if (told === "at_risk" && ended == null) return <State look={["orange", IconAlertTriangle, t("transfer.deadline.atRisk")]} />;
  return null;
}
/** A plan that was started shows where its transfer stands; one that was ready and can't start any more says so, whatever its state was. */
export function PlanBadge({ plan }: { plan: Pick<Plan, "state" | "state_reason" | "transfer_state"> }) {
  if (plan.transfer_state != null) return <TransferBadge state={plan.transfer_state} />;
  return <State look={plan.state === "ready" && plan.state_reason !== "" ? ["red", IconBan, t("plan.state.over")] : planLook(plan.state)} />;
}
export const DecisionBadge = ({ outcome }: { outcome: Decision["outcome"] }) => <State look={decisionLook(outcome)} />;
export const NodeBadge = ({ state }: { state: Node["state"] }) => <State look={nodeLook(state)} />;
export const PolicyBadge = ({ state }: { state: PolicyVersion["state"] }) => <State look={policyLook(state)} />;
export const PersonBadge = ({ state }: { state: Person["state"] }) => <State look={personLook(state)} />;
export const OnlineBadge = ({ online }: { online: boolean }) => (
  <State look={online ? ["green", IconPlugConnected, t("endpoint.online")] : ["red", IconPlugConnectedX, t("endpoint.away")]} />
);
