/** What a plan destroys, in words; or that it destroys nothing. */

import { Button } from "@mantine/core";
import { IconAlertTriangle, IconShieldCheck } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Loss, Plan, SurveyCounts } from "../api/schema";
import { bytes } from "../format/units";
import { t, tData, tn } from "../i18n";
import { visible } from "../format/text";
import { Failure } from "../ui/basics";
import { lossesQuery } from "./dry-run";
import classes from "./PlanCard.module.css";

export function losses(plan: Plan): string[] {
  const { survey, intent } = plan;
  if (survey == null || intent == null) return [];
  const said: string[] = [];
  const where = visible(intent.destination);
  const kept = keptDays(plan);
  const days = tn("count.days", kept);
  if (survey.overwrites > 0) {
    said.push(t("loss.overwrites", { files: tn("count.files", survey.overwrites), size: bytes(survey.overwritten_bytes), where }));
  }
  if (survey.deletes > 0) {
    const lost = { names: tn("count.names", survey.deletes), size: bytes(survey.deleted_bytes), where };
    said.push(kept > 0 ? t("loss.deletes.kept", { ...lost, days }) : t("loss.deletes", lost));
  }
  if (intent.action === "move") {
    const moved = { files: tn("count.files", survey.files + survey.identical_files), where: visible(intent.source) };
    said.push(kept > 0 ? t("loss.move.kept", { ...moved, days }) : t("loss.move", moved));
  }
  return said;
}

/** How many days a trash keeps what a plan deletes; 0 where it is gone at once. */
function keptDays(plan: Plan): number {
  const days = (plan.decision?.obligations ?? []).map((need) => Number(/^trash:(\d+)d$/.exec(need)?.[1] ?? 0));
  return Math.max(0, ...days);
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
      <Names plan={plan.id} how="replaced" sample={survey.overwrites_sample} total={survey.overwrites} />
      <Names plan={plan.id} how="deleted" sample={survey.deletes_sample} total={survey.deletes} />
    </div>
  );
}

interface NamesProps {
  plan: string;
  how: Loss["how"];
  sample: readonly string[];
  total: number;
}

/** The first names, and all of them page by page when somebody wants to see them. */
function Names({ plan, how, sample, total }: NamesProps) {
  const [all, setAll] = useState(false);
  const listed = useInfiniteQuery({ ...lossesQuery(plan, how), enabled: all });
  if (sample.length === 0) return null;
  const names = listed.data?.pages.flatMap(({ items }) => items.map(({ path }) => path)) ?? sample;
  const more = total - names.length;
  const next = () => {
    if (all) void listed.fetchNextPage();
    else setAll(true);
  };
  return (
    <details>
      <summary>{how === "replaced" ? t("loss.sample.overwrites") : t("loss.sample.deletes")}</summary>
      <ul className={classes.sample}>
        {names.map((name) => (
          <li key={name}>
            <bdi>{visible(name)}</bdi>
          </li>
        ))}
        {more > 0 && <li>{t("loss.more", { n: more })}</li>}
      </ul>
      {listed.isError && <Failure error={listed.error} again={() => void listed.refetch()} />}
      {more > 0 && !listed.isError && (
        <Button variant="default" size="compact-sm" loading={listed.isFetching} onClick={next}>
          {all ? t("loss.next") : t("loss.all")}
        </Button>
      )}
    </details>
  );
}
