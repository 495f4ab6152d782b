/** A transfer that is asked for once more: its own intent and tuning, as a new plan or in the form. A probe stays a probe. */

import type { QueryClient } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { planQuery } from "../api/queries";
import type { Plan, ProbeBounds, Transfer, TransferIntent, Tuning } from "../api/schema";
import { t } from "../i18n";
import { ownTuning } from "../quality/tuning";

export interface AskedBefore {
  intent: TransferIntent;
  /** Of a probe: without it, the same intent is a copy. */
  probe: ProbeBounds | null;
  /** What was set for that transfer itself; what its pair of endpoints or the site sets holds without being said. */
  tuning: Tuning | null;
}

/** What a transfer was made of. Times that have passed are left out: they were for that run. */
export async function askedBefore(client: QueryClient, { plan }: Pick<Transfer, "plan">): Promise<AskedBefore> {
  const { intent, probe, tuning } = await client.query(planQuery(plan));
  if (intent == null) throw new Error(t("control.run_again.gone"));
  return { intent: forNow(intent, Date.now()), probe: probe ?? null, tuning: ownTuning(tuning) };
}

export function forNow(intent: TransferIntent, now: number): TransferIntent {
  const ahead = (time: string | null | undefined) => (time != null && new Date(time).getTime() > now ? time : null);
  return { ...intent, start: ahead(intent.start), deadline: ahead(intent.deadline) };
}

/** Has a new plan made of a transfer; nothing runs before it is started. */
export async function planAgain(client: QueryClient, transfer: Pick<Transfer, "plan">): Promise<Plan> {
  return answer(api.POST("/api/v1/plans", { body: await askedBefore(client, transfer) }));
}
