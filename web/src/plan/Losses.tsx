/** What a plan destroys, in words; or that it destroys nothing. */

import { IconAlertTriangle, IconShieldCheck } from "@tabler/icons-react";
import type { Plan, SurveyCounts } from "../api/schema";
import { bytes } from "../format/units";
import { t, tData, tn } from "../i18n";
import { visible } from "../format/text";
import classes from "./PlanCard.module.css";

export function losses(plan: Plan): string[] {
  const { survey, intent } = plan;
  if (survey == null || intent == null) return [];
  const said: string[] = [];
  const where = visible(intent.destination);
  if (survey.overwrites > 0) {
    said.push(t("loss.overwrites", { files: tn("count.files", survey.overwrites), size: bytes(survey.overwritten_bytes), where }));
  }
  if (survey.deletes > 0) {
    said.push(t("loss.deletes", { names: tn("count.names", survey.deletes), size: bytes(survey.deleted_bytes), where }));
  }
  if (intent.action === "move") {
    said.push(t("loss.move", { files: tn("count.files", survey.files + survey.identical_files), where: visible(intent.source) }));
  }
  return said;
}

export function Losses({ plan, survey }: { plan: Plan; survey: SurveyCounts }) {
  const said = losses(plan);
  const other = plan.danger.filter((danger) => !["overwrite", "delete_extraneous", "delete_source"].includes(danger));
  if (said.length === 0 && other.length === 0) {
    return (
      <div className={classes.noLoss}>
        <IconShieldCheck size={18} aria-hidden />
        {t("loss.none")}
      </div>
    );
  }
  return (
    <div className={classes.loss}>
      <div className={classes.lossHead}>
        <IconAlertTriangle size={18} aria-hidden />
        {said.length > 0 ? t("loss.title") : t("loss.careful")}
      </div>
      <ul>
        {said.map((line) => (
          <li key={line}>{line}</li>
        ))}
        {other.map((danger) => (
          <li key={danger}>{tData("danger", danger)}</li>
        ))}
      </ul>
      <Sample title={t("loss.sample.overwrites")} names={survey.overwrites_sample} total={survey.overwrites} />
      <Sample title={t("loss.sample.deletes")} names={survey.deletes_sample} total={survey.deletes} />
    </div>
  );
}

function Sample({ title, names, total }: { title: string; names: readonly string[]; total: number }) {
  if (names.length === 0) return null;
  return (
    <details>
      <summary>{title}</summary>
      <ul className={classes.sample}>
        {names.map((name) => (
          <li key={name}>
            <bdi>{visible(name)}</bdi>
          </li>
        ))}
        {total > names.length && <li>{t("loss.more", { n: total - names.length })}</li>}
      </ul>
    </details>
  );
}
