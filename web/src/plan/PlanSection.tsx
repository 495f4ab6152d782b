/** A plan with what the person who looks at it may do: the requester starts it, another person approves it. */

import { Alert } from "@mantine/core";
import { useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { IconAlertTriangle } from "@tabler/icons-react";
import { meQuery, planQuery } from "../api/queries";
import type { Plan } from "../api/schema";
import { t } from "../i18n";
import { Failure, Loading } from "../ui/basics";
import { ApproverActions } from "./ApproverActions";
import { PlanCard } from "./PlanCard";
import classes from "./PlanCard.module.css";
import { answered } from "./reading";
import { RequesterActions } from "./RequesterActions";
import { Ask } from "./WordsBar";

interface Props {
  plan: string;
  /** The words beside it, when it stands below words. */
  madeFrom?: string | undefined;
  /** What is asked for beside it was changed since it was made. */
  stale?: boolean;
  /** Takes the words with an answer to one of its questions; without it, they go to the page of a new transfer. */
  answer?: (words: string) => void;
}

export function PlanSection({ plan: id, madeFrom, stale = false, answer }: Props) {
  const navigate = useNavigate();
  const { data: me } = useSuspenseQuery(meQuery);
  const plan = useQuery(planQuery(id));
  if (plan.isPending) return <Loading />;
  if (plan.isError) return <Failure error={plan.error} again={() => void plan.refetch()} />;
  const { words, questions } = plan.data;
  // An address can name a plan beside words that are not its own.
  const other = stale || (madeFrom !== undefined && words != null && words.trim() !== madeFrom.trim());
  const mine = me.id === plan.data.requester;
  const take = answer ?? ((text: string) => void navigate({ to: "/new", search: { words: text, answers: id } }));
  return (
    <div className={classes.section}>
      {other && (
        <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />} title={t("plan.stale")}>
          {t("plan.stale.detail")}
        </Alert>
      )}
      <div className={classes.whole} data-stale={other}>
        <PlanCard plan={plan.data} />
      </div>
      {!other && mine && words != null && questions.map((question) => (
        <Ask key={question.slot + question.message} question={question} text={words} use={(value) => take(answered(words, question, value))} />
      ))}
      {mine ? (
        <RequesterActions plan={plan.data} stale={other} alone={answer === undefined} />
      ) : (
        needsApproval(plan.data) && <ApproverActions plan={plan.data} />
      )}
    </div>
  );
}

function needsApproval({ needs, state_reason: over, transfer }: Plan): boolean {
  return over === "" && transfer == null && needs.some(({ kind }) => kind === "approval");
}
