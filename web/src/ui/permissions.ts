/** Who is offered what. The service decides; this only spares people a refusal, and says why. */

import { visible } from "../format/text";
import { t, type PlainKey } from "../i18n";
import type { AllowedAction, Me } from "../api/schema";

export type Ability = "plan" | "approve" | "policy" | "nodes" | "audit" | "people";

const NEEDS: Record<Ability, { scope: string; reason: PlainKey }> = {
  plan: { scope: "transfer:plan", reason: "needs.requester" },
  approve: { scope: "transfer:approve", reason: "needs.approver" },
  policy: { scope: "policy:write", reason: "needs.policy_admin" },
  nodes: { scope: "node:write", reason: "needs.operator" },
  audit: { scope: "audit:read", reason: "needs.auditor" },
  people: { scope: "admin", reason: "needs.admin" },
};

/** Null when `me` may; otherwise why not, in words. */
export function whyNot(me: Me, ability: Ability): string | null {
  const { scope, reason } = NEEDS[ability];
  return me.scopes.includes(scope) ? null : t(reason);
}

/** What the service says of an action on a plan or transfer: null when it may be taken, otherwise why not. */
export function refusal({ allowed_actions: actions }: { allowed_actions: readonly AllowedAction[] }, action: AllowedAction["action"]): string | null {
  const found = actions.find((one) => one.action === action);
  if (found === undefined) return t("needs.unknown");
  return found.allowed ? null : visible(found.reason);
}
