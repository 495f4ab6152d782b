import { Alert, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { ENDED } from "../api/queries";
import type { Progress, Transfer } from "../api/schema";
import { visible } from "../format/text";
import { duration, roughly } from "../format/time";
import { bytes, count, rate } from "../format/units";
import { t, tn } from "../i18n";
import { Throughput } from "../live/Throughput";
import { TransferQuality } from "../quality/TransferQuality";
import { who } from "../ui/who";
import { Prose } from "../ui/Prose";
import { Card, Facts, Name, Stack, Time } from "../ui/basics";
import { Arrived, arrival } from "./Arrived";
import { ProbeCard } from "./ProbeCard";
import { Verdict } from "./Verdict";

export function Summary({ transfer }: { transfer: Transfer }) {
  const { progress, error, state, state_reason: reason } = transfer;
  const ended = ENDED.has(state);
  const { safe, totalBytes } = arrival(transfer);
  return (
    <Stack>
      {error != null && (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={visible(error.title)}>
          <Prose>{error.detail}</Prose> ({error.code})
        </Alert>
      )}
      {error == null && reason !== "" && (
        <Alert color={state === "waiting" || state === "paused" ? "yellow" : "gray"} title={t(`transfer.state.${state}`)}>
          <Prose>{reason}</Prose>
        </Alert>
      )}
      <Card title={t("transfer.progress")}>
        {transfer.probe ? (
          <Text fw={650}>{t("transfers.probe")}</Text>
        ) : (
          <>
            <Arrived transfer={transfer} label={t("transfer.progress.durable")} size="lg" />
            <Text fw={650} size="lg" aria-live="off">
              {state !== "canceled" && `${safe} % · `}
              {totalBytes > 0 && state !== "canceled"
                ? t("transfer.progress.of", { done: bytes(progress.bytes_durable), total: bytes(totalBytes) })
                : t("transfer.progress.files", { done: count(progress.files_done), total: tn("count.files", progress.files_total) })}
            </Text>
          </>
        )}
        {transfer.next_step.message !== "" && (
          <Text>
            {t("transfer.next")} <Prose>{transfer.next_step.message}</Prose>
          </Text>
        )}
        <Facts rows={figures(transfer, ended)} />
        <Throughput transfer={transfer.id} ended={ended} />
      </Card>
      {transfer.probe && <ProbeCard transfer={transfer.id} ended={ended} />}
      <TransferQuality transfer={transfer} />
      <Verdict transfer={transfer.id} ended={ended} />
      <Card title={t("transfer.what")}>
        <Facts
          rows={[
            [t("form.source"), <Name key="source" wrap>{transfer.source}</Name>],
            [t("form.destination"), <Name key="destination" wrap>{transfer.destination}</Name>],
            [t("transfers.who"), who(transfer.requester, transfer.requester_name, transfer.agent)],
            ...(transfer.project == null ? [] : [[t("form.project"), visible(transfer.project)] as const]),
            ...times(transfer),
            [t("transfer.created"), <Time key="created" value={transfer.created} />],
            [t("transfer.started"), <Time key="started" value={transfer.started} />],
            [t("transfer.ended"), <Time key="ended" value={transfer.ended} />],
            [t("transfer.took"), took(transfer)],
            [t("transfer.attempts"), count(transfer.attempt)],
            [t("transfer.id"), <Name key="id" wrap>{transfer.id}</Name>],
          ]}
        />
      </Card>
    </Stack>
  );
}

function figures(transfer: Transfer, ended: boolean): (readonly [string, ReactNode])[] {
  const { state, progress, rate_ceiling_bps: ceiling } = transfer;
  const rows: (readonly [string, ReactNode])[] = [
    [t("figure.files"), t("figure.files.of", { done: count(progress.files_done), total: count(progress.files_total) })],
    ...(progress.identical_by == null ? [] : [[t(`figure.same.${progress.identical_by}`), count(progress.files_identical)] as const]),
    [t("figure.failed"), count(progress.files_failed)],
    ...(progress.bytes_failed > 0 ? [[t("figure.bytesFailed"), bytes(progress.bytes_failed)] as const] : []),
    ...(progress.average_bps == null ? [] : [[t("figure.average"), rate(progress.average_bps)] as const]),
    [t("figure.resent"), bytes(progress.resent_bytes)],
    ...(progress.sources_kept > 0 ? [[t("figure.sourcesKept"), count(progress.sources_kept)] as const] : []),
    ...deletes(progress),
    [t("figure.ceiling"), ceiling == null ? t("value.none") : rate(ceiling)],
  ];
  if (ended || state !== "running") return rows;
  return [
    [t("figure.rate"), rate(progress.rate_bps)],
    [t("figure.eta"), left(transfer)],
    [t("figure.streams"), count(progress.streams)],
    ...rows,
    [t("figure.asOf"), <Time key="at" value={progress.at} />],
  ];
}

/** What it deleted so far; of a sync that runs, of how many. */
function deletes({ deleted, deletes_total: total, sources_deleted: sources, deleted_to_trash: kept }: Progress): (readonly [string, ReactNode])[] {
  const done = total > 0 ? t("figure.deleted.of", { done: count(deleted), total: count(total) }) : count(deleted);
  return [
    ...(deleted > 0 || total > 0 ? [[t(kept ? "figure.trashed" : "figure.deleted"), done] as const] : []),
    ...(sources > 0 ? [[t(kept ? "figure.sourcesTrashed" : "figure.sourcesDeleted"), count(sources)] as const] : []),
  ];
}

/** Deletes come last, and the time that is left knows them only once they go on. */
function left({ action, progress }: Transfer): string {
  const { eta_s: likely, eta_low_s: low, eta_high_s: high } = progress;
  if (likely == null) return t("value.unknown");
  const said = low == null || high == null ? roughly(likely) : t("figure.eta.range", { likely: roughly(likely), low: roughly(low), high: roughly(high) });
  const before = action === "move" ? progress.sources_deleted === 0 : progress.deletes_total > 0 && progress.deleted === 0;
  return before ? t("figure.eta.beforeDeletes", { left: said }) : said;
}

/** Start and hours, where any were asked for, and when it is expected to end, its hours counted. */
function times({ starts, started, hours, goes_on: goesOn, ends }: Transfer): (readonly [string, ReactNode])[] {
  return [
    ...(starts == null || started != null ? [] : [[t("transfer.starts"), <Time key="starts" value={starts} />] as const]),
    ...(hours == null ? [] : [[t("transfer.hours"), `${hours.opens}–${hours.closes} (${visible(hours.zone)})`] as const]),
    ...(goesOn == null ? [] : [[t("transfer.goesOn"), <Time key="goesOn" value={goesOn} />] as const]),
    ...(ends == null ? [] : [[t(ends.latest == null ? "transfer.ends.earliest" : "transfer.ends"), <Expected key="ends" {...ends} />] as const]),
  ];
}

function Expected({ earliest, latest, said }: NonNullable<Transfer["ends"]>) {
  return (
    <>
      <Time value={earliest} />
      {latest != null && (
        <>
          {" – "}
          <Time value={latest} />
        </>
      )}
      {said !== "" && (
        <>
          {" · "}
          <Prose>{said}</Prose>
        </>
      )}
    </>
  );
}

function took({ started, ended }: Transfer): string {
  if (started == null) return t("value.none");
  const until = ended == null ? Date.now() : new Date(ended).getTime();
  return duration((until - new Date(started).getTime()) / 1000);
}
