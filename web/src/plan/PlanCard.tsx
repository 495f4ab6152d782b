/** A plan as everybody sees it, whichever way it was asked for: what will happen, what will be lost, what policy says. */

import { Alert, Text } from "@mantine/core";
import { IconAlertTriangle, IconBan } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { Plan } from "../api/schema";
import { bytes, count } from "../format/units";
import { visible } from "../format/text";
import { t, tn } from "../i18n";
import { tuningRows } from "../quality/tuning";
import { Card, Copyable, Facts, Loading, Time } from "../ui/basics";
import { Prose } from "../ui/Prose";
import { who } from "../ui/who";
import { DecisionBadge, PlanBadge } from "../ui/state";
import { Counts } from "./Counts";
import { DecisionDetail } from "./DecisionDetail";
import { Losses } from "./Losses";
import { Origins } from "./Origins";
import classes from "./PlanCard.module.css";
import { Refusals } from "./WordsBar";

export function PlanCard({ plan }: { plan: Plan }) {
  const { survey, decision, probe } = plan;
  return (
    <Card
      title={t("plan.title")}
      actions={
        <div className={classes.badges}>
          <PlanBadge plan={plan} />
          {decision != null && plan.state_reason === "" && plan.transfer == null && <DecisionBadge outcome={decision.outcome} />}
        </div>
      }
    >
      {plan.state_reason !== "" && (
        <Alert color="red" icon={<IconBan aria-hidden />} title={t("plan.over")}>
          <Prose>{plan.state_reason}</Prose>
        </Alert>
      )}
      <Text className={classes.sentence}>{visible(plan.canonical_sentence ?? plan.words ?? "")}</Text>
      <Origins plan={plan} />
      {plan.state === "surveying" && (
        <>
          <Loading />
          <Text c="dimmed">{t("plan.surveyed", { n: count(plan.surveyed_entries) })}</Text>
        </>
      )}
      {probe != null && <Text fw={600}>{t("plan.probe", { bytes: bytes(probe.max_bytes), seconds: count(probe.max_seconds) })}</Text>}
      {survey != null && probe == null && <Counts action={plan.intent?.action} survey={survey} etaS={plan.eta_s ?? null} estimate={plan.estimate ?? null} quotas={plan.quotas} />}
      {plan.warnings.map((warning) => (
        <Alert key={warning} color="orange" icon={<IconAlertTriangle aria-hidden />}>
          <Prose>{warning}</Prose>
        </Alert>
      ))}
      {survey != null && probe == null && <Losses plan={plan} survey={survey} />}
      <Refusals refusals={plan.refusals} />
      {plan.notes.length > 0 && (
        <details>
          <summary>{tn("count.notes", plan.notes.length)}</summary>
          <ul className={classes.notes}>
            {plan.notes.map((note) => (
              <li key={note}><Prose>{note}</Prose></li>
            ))}
          </ul>
        </details>
      )}
      {decision != null && <DecisionDetail decision={decision} needs={plan.needs} approvals={plan.approvals} />}
      <Facts
        rows={[
          [t("plan.requester"), who(plan.requester, plan.requester_name, plan.agent)],
          ...(plan.intent?.project == null ? [] : [[t("form.project"), visible(plan.intent.project)] as const]),
          [t("plan.created"), <Time key="created" value={plan.created} />],
          ...(plan.starts == null ? [] : [[t("transfer.starts"), <Time key="starts" value={plan.starts} />] as const]),
          [t("plan.expires"), <Time key="expires" value={plan.expires} />],
          ...tuningRows(plan.tuning),
        ]}
      />
      {plan.words != null && plan.words !== plan.canonical_sentence && (
        <Text size="sm" c="dimmed" className={classes.said}>
          {t("plan.said")} “{visible(plan.words)}”
        </Text>
      )}
      {plan.digest != null && (
        <div>
          <Text size="xs" c="dimmed">
            {t("plan.digest")}
          </Text>
          <Copyable label={t("plan.digest")} text={plan.digest} />
        </div>
      )}
      {plan.transfer != null && (
        <Link to="/transfers/$transfer" params={{ transfer: plan.transfer }}>
          {t(plan.transfer_ended == null ? "plan.transfer" : "plan.transfer.ended", { id: plan.transfer })}
        </Link>
      )}
    </Card>
  );
}
