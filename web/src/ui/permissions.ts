/** Who is offered what. The service decides; this only spares people a refusal, and says why. */

import { visible } from "../format/text";
import { t, type PlainKey } from "../i18n";
import type { AllowedAction, Me } from "../api/schema";

export type Ability = "plan" | "approve" | "policy" | "nodes" | "audit" | "people" | "halt" | "halts";

/** By ability: one of these scopes, and what to say without. */
const NEEDS: Record<Ability, { scope: string; or?: readonly string[]; reason: PlainKey }> = {
  plan: { scope: "transfer:plan", reason: "needs.requester" },
  approve: { scope: "transfer:approve", reason: "needs.approver" },
  policy: { scope: "policy:write", reason: "needs.policy_admin" },
  nodes: { scope: "node:write", reason: "needs.operator" },
  audit: { scope: "audit:read", reason: "needs.auditor" },
  people: { scope: "admin", reason: "needs.admin" },
  halt: { scope: "node:write", or: ["admin"], reason: "needs.operator" },
  halts: { scope: "node:write", or: ["admin", "audit:read"], reason: "needs.halts" },
};

/** Null when `me` may; otherwise why not, in words. */
export function whyNot(me: Me, ability: Ability): string | null {
  const { scope, or = [], reason } = NEEDS[ability];
  return [scope, ...or].some((one) => me.scopes.includes(one)) ? null : t(reason);
}

/** What the service says of an action on a plan or transfer: null when it may be taken, otherwise why not. */
export function refusal({ allowed_actions: actions }: { allowed_actions: readonly AllowedAction[] }, action: AllowedAction["action"]): string | null {
  const found = actions.find((one) => one.action === action);
  if (found === undefined) return t("needs.unknown");
  return found.allowed ? null : visible(found.reason);
}
