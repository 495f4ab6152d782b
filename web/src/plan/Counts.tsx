import type { Estimate, QuotaUse, SurveyCounts, TransferIntent } from "../api/schema";
import { visible } from "../format/text";
import { roughly } from "../format/time";
import { bytes, count } from "../format/units";
import { t } from "../i18n";
import classes from "./PlanCard.module.css";

interface CountsProps {
  action: TransferIntent["action"] | undefined;
  survey: SurveyCounts;
  etaS: number | null;
  estimate: Estimate | null;
  quotas: readonly QuotaUse[];
}

/** The figures of a survey; what is zero is left out. What is lost, or that nothing is, stands below them in words. */
export function Counts({ action, survey, etaS, estimate, quotas }: CountsProps) {
  const rows: [string, string, string?][] = [
    [t(action === "move" ? "survey.files.move" : "survey.files"), count(survey.files)],
    [t("survey.bytes"), bytes(survey.bytes), t("survey.exact", { n: count(survey.bytes) })],
  ];
  if (survey.overwrites > 0) rows.push([t("survey.overwrites"), count(survey.overwrites)]);
  if (survey.deletes > 0) rows.push([t("survey.deletes"), count(survey.deletes)]);
  if (survey.identical_files > 0) rows.push([t("survey.identical"), count(survey.identical_files)]);
  if (survey.excluded_files > 0) rows.push([t("survey.excluded"), count(survey.excluded_files)]);
  if (survey.conflicts > 0) rows.push([t("survey.conflicts"), count(survey.conflicts)]);
  if (survey.skipped_special > 0) rows.push([t("survey.special"), count(survey.skipped_special)]);
  if (etaS === null) rows.push([t("survey.eta"), t("survey.eta.unknown")]);
  else rows.push([t("survey.eta"), roughly(etaS), estimate === null ? undefined : said(estimate)]);
  rows.push([t("survey.free"), bytes(survey.destination_free_bytes)]);
  for (const quota of quotas) {
    for (const used of uses(quota)) rows.push([t("survey.quota", { of: t(`quota.of.${quota.of}`) }), used, visible(quota.subject)]);
  }
  return (
    <dl className={classes.counts}>
      {rows.map(([term, value, detail]) => (
        <div key={[term, detail, value].join(" ")}>
          <dt>{term}</dt>
          <dd>
            {value} {detail !== undefined && <small>{detail}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function said({ low_s: low, high_s: high, said: from }: Estimate): string {
  return t("survey.eta.range", { low: roughly(low), high: roughly(high), from: visible(from) });
}

function uses(quota: QuotaUse): string[] {
  return [
    ...(quota.bytes_a_day == null ? [] : [t("quota.today", { used: bytes(quota.bytes_used), most: bytes(quota.bytes_a_day) })]),
    ...(quota.files_a_day == null ? [] : [t("quota.files", { used: count(quota.files_used), most: count(quota.files_a_day) })]),
    ...(quota.transfers == null ? [] : [t("quota.transfers", { used: count(quota.transfers_used), most: count(quota.transfers) })]),
  ];
}
