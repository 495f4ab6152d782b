/** What the person who asked can do with a plan: confirm what will be lost, ask for approval, start it, ask again. The service says which. */

import { Checkbox, Group, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useState } from "react";
import { answer, api } from "../api/client";
import { planQuery } from "../api/queries";
import type { Confirmation, Plan } from "../api/schema";
import { t } from "../i18n";
import { Act, Card, Copyable, Failure } from "../ui/basics";
import { ownTuning } from "../quality/tuning";
import { refusal } from "../ui/permissions";
import { useProof } from "../ui/proof";
import { Prose } from "../ui/Prose";
import { useStaying } from "../ui/staying";
import { tell } from "../ui/toasts";
import { ofPlan } from "../probe/asked";
import { fromIntent, toAddress } from "./intent";
import type { Address } from "./asked";
import { losses } from "./Losses";
import classes from "./PlanCard.module.css";

interface Props {
  plan: Plan;
  /** What is asked for beside it was changed since it was made. */
  stale: boolean;
  /** It stands on a page of its own, without the words or the form that it was made of. */
  alone?: boolean;
}

export function RequesterActions({ plan, stale, alone = false }: Props) {
  const navigate = useNavigate();
  const staying = useStaying();
  const client = useQueryClient();
  const start = useMutation({
    mutationFn: ({ digest }: { digest: string; then: "follow" | "ask" }) => answer(api.POST("/api/v1/transfers", { body: { plan_digest: digest } })),
    onSuccess: async (transfer, { then }) => {
      await client.invalidateQueries({ queryKey: ["transfers"] });
      tell(t("plan.started"));
      if (!staying()) return;
      // The words stay where they were, to be changed into those of the next one.
      if (then === "follow") await navigate({ to: "/transfers/$transfer", params: { transfer: transfer.id } });
      else await navigate(probing(plan) ?? { to: "/new", search: asAsked(plan) });
    },
  });
  const { digest, needs, next_step: next } = plan;
  if (plan.transfer != null) return alone ? <Again plan={plan} /> : null;
  if (next.kind === "wait" || (next.kind === "answer" && !alone)) return null;
  const lacks = (kind: "confirmation" | "approval") => needs.some((need) => need.kind === kind && need.given < need.count);
  const blocked = stale ? t("plan.blocked.stale") : refusal(plan, "submit");
  const pending = start.isPending ? start.variables.then : null;
  const over = next.kind === "plan_again" || next.kind === "none" || next.kind === "answer";
  return (
    <div className={over ? undefined : classes.bar}>
      <Card title={t("plan.next")}>
        <Text className={plan.warnings.length > 0 ? classes.warning : undefined}>
          {plan.warnings.length > 0 && <IconAlertTriangle size={18} aria-hidden />}
          <span>
            <Prose>{next.message}</Prose>
          </span>
        </Text>
        {!over && !lacks("confirmation") && losses(plan).map((line) => (
          <Text key={line} className={classes.warning}>
            <IconAlertTriangle size={18} aria-hidden /> {line}
          </Text>
        ))}
        {over && !stale && <Again plan={plan} />}
        {next.kind === "answer" && <Drop plan={plan} />}
        {!over && !stale && digest != null && lacks("confirmation") && <Confirm plan={plan} digest={digest} />}
        {!over && lacks("approval") && (
          <div>
            <Text>{t("plan.ask.approval")}</Text>
            <Copyable label={t("plan.link")} text={`${window.location.origin}/plans/${plan.id}`} />
          </div>
        )}
        {start.isError && <Failure error={start.error} />}
        {!over && digest != null && (
          <Group gap="xs">
            <Act blocked={blocked} size="sm" loading={pending === "follow"} onClick={() => start.mutate({ digest, then: "follow" })}>
              {t(plan.probe == null ? "plan.start" : "plan.start.probe")}
            </Act>
            <Act variant="default" blocked={blocked} size="sm" loading={pending === "ask"} onClick={() => start.mutate({ digest, then: "ask" })}>
              {t("plan.startAndAsk")}
            </Act>
            {!lacks("confirmation") && <Drop plan={plan} />}
          </Group>
        )}
      </Card>
    </div>
  );
}

/** The same request in the form or the words it was made of. */
function Again({ plan }: { plan: Plan }) {
  if (plan.words == null && plan.intent == null) return null;
  const probe = probing(plan);
  if (probe !== null) return <Link {...probe}>{t("plan.again")}</Link>;
  return (
    <Link to="/new" search={asAsked(plan)}>
      {t("plan.again")}
    </Link>
  );
}

/** Gives the request up, so that it waits for nobody any more. */
function Drop({ plan }: { plan: Plan }) {
  const client = useQueryClient();
  const drop = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/plans/{plan}/drop", { params: { path: { plan: plan.id } } })),
    onSuccess: async (changed) => {
      client.setQueryData(planQuery(plan.id).queryKey, changed);
      tell(t("plan.dropped"));
      await client.invalidateQueries({ queryKey: ["plans"] });
    },
  });
  return (
    <>
      <div>
        <Act variant="subtle" color="gray" size="sm" blocked={refusal(plan, "drop")} loading={drop.isPending} onClick={() => drop.mutate()}>
          {t("plan.drop")}
        </Act>
      </div>
      {drop.isError && <Failure error={drop.error} />}
    </>
  );
}

/** Where a probe is asked for again: by its intent alone it would be a copy. */
function probing({ intent, probe, tuning }: Plan) {
  return intent != null && probe != null ? ({ to: "/endpoints", search: { probe: ofPlan(intent, probe, ownTuning(tuning)) } } as const) : null;
}

function asAsked({ words, intent, tuning }: Plan): Address & { view?: "form" } {
  const own = ownTuning(tuning);
  // No words say what is set of streams and units: the form keeps it.
  if (words != null && (own === null || intent == null)) return { words };
  return intent != null ? { view: "form", form: toAddress(fromIntent(intent, own)) } : {};
}

function Confirm({ plan, digest }: { plan: Plan; digest: string }) {
  const [read, setRead] = useState(false);
  const client = useQueryClient();
  const proof = useProof();
  const say = useMutation({
    mutationFn: (verdict: NonNullable<Confirmation["verdict"]>) =>
      answer(api.POST("/api/v1/plans/{plan}/confirmations", { params: { path: { plan: plan.id } }, body: { digest, verdict, ...proof.take() } })),
    onSuccess: async (changed, verdict) => {
      proof.used();
      client.setQueryData(planQuery(plan.id).queryKey, changed);
      tell(t(verdict === "confirmed" ? "plan.confirmed" : "plan.declined"));
      await client.invalidateQueries({ queryKey: ["plans"] });
    },
  });
  const said = losses(plan);
  return (
    <>
      <Checkbox
        checked={read}
        onChange={(event) => setRead(event.currentTarget.checked)}
        label={said.length > 0 ? t("plan.confirm.losses", { losses: said.join(" ") }) : t("plan.confirm.plain")}
      />
      {say.isError && <Failure error={say.error} />}
      {proof.field(say.error, () => say.mutate("confirmed"))}
      <Group gap="xs">
        <Act
          size="sm"
          color={said.length > 0 ? "red" : "water"}
          loading={say.isPending}
          blocked={refusal(plan, "confirm") ?? (read ? null : t("plan.blocked.read"))}
          onClick={() => say.mutate("confirmed")}
        >
          {t("plan.confirm")}
        </Act>
        <Act size="sm" variant="default" loading={say.isPending} blocked={refusal(plan, "decline")} onClick={() => say.mutate("declined")}>
          {t("plan.decline")}
        </Act>
      </Group>
    </>
  );
}
