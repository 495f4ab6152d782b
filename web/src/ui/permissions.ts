/** Who is offered what. The service decides; this only spares people a refusal, and says why. */

import { t, type PlainKey } from "../i18n";
import type { Me } from "../api/schema";

export type Ability = "plan" | "run" | "approve" | "policy" | "nodes" | "audit" | "people";

const NEEDS: Record<Ability, { scope: string; reason: PlainKey }> = {
  plan: { scope: "transfer:plan", reason: "needs.requester" },
  run: { scope: "transfer:run", reason: "needs.requester" },
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
