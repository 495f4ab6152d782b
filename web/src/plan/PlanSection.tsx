/** A plan with what the person who looks at it may do: the requester starts it, another person approves it. */

import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { meQuery, planQuery } from "../api/queries";
import type { Me, Plan } from "../api/schema";
import { Failure, Loading, Stack } from "../ui/basics";
import { ApproverActions } from "./ApproverActions";
import { PlanCard } from "./PlanCard";
import { answered } from "./reading";
import { RequesterActions } from "./RequesterActions";
import { Ask } from "./WordsBar";

export function PlanSection({ plan: id, answer }: { plan: string; answer?: (words: string) => void }) {
  const { data: me } = useSuspenseQuery(meQuery);
  const plan = useQuery(planQuery(id));
  if (plan.isPending) return <Loading />;
  if (plan.isError) return <Failure error={plan.error} again={() => void plan.refetch()} />;
  const { words, questions } = plan.data;
  return (
    <Stack>
      <PlanCard plan={plan.data} />
      {words != null && answer !== undefined && questions.map((question) => (
        <Ask key={question.slot + question.message} question={question} use={(value) => answer(answered(words, question, value))} />
      ))}
      {isRequester(me, plan.data) ? <RequesterActions plan={plan.data} /> : needsApproval(plan.data) && <ApproverActions plan={plan.data} />}
    </Stack>
  );
}

export function isRequester(me: Me, plan: Plan): boolean {
  return plan.requester === me.name || plan.requester === me.id;
}

function needsApproval(plan: Plan): boolean {
  return plan.state === "ready" && plan.decision?.outcome === "approve" && plan.transfer == null;
}
