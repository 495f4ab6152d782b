/** What a probe has measured: the rates of its legs, and where the difference goes. */

import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ProbeLeg } from "../api/schema";
import { visible } from "../format/text";
import { bytes, rate } from "../format/units";
import { t } from "../i18n";
import { probedQuery } from "../quality/queries";
import { Listing } from "../ui/Listing";
import { Prose } from "../ui/Prose";
import { Card } from "../ui/basics";

const HEADS = ["probe.leg", "probe.rate", "probe.moved", "probe.limit"] as const;

export function ProbeCard({ transfer, ended }: { transfer: string; ended: boolean }) {
  const { data } = useQuery(probedQuery(transfer, ended));
  if (data === undefined) return null;
  return (
    <Card title={t("probe.title")}>
      {data.said !== "" && (
        <Text fw={600}>
          <Prose>{`${data.said.charAt(0).toUpperCase()}${data.said.slice(1)}.`}</Prose>
        </Text>
      )}
      <Listing part label={t("probe.title")} heads={HEADS.map((head) => t(head))}>
        {data.legs.map((leg) => (
          <Table.Tr key={leg.name}>
            <Table.Td>{t(`probe.leg.${leg.name}`)}</Table.Td>
            <Table.Td>{leg.rate_bps == null ? t("probe.none") : rate(leg.rate_bps)}</Table.Td>
            <Table.Td>{leg.rate_bps == null ? "" : t("probe.in", { bytes: bytes(leg.bytes), seconds: leg.seconds.toFixed(1) })}</Table.Td>
            <Table.Td>{visible(limitOf(leg))}</Table.Td>
          </Table.Tr>
        ))}
      </Listing>
      {data.running != null && <Text>{t("probe.running", { leg: t(`probe.leg.${data.running}`) })}</Text>}
      {data.remedy.map((line) => (
        <Text key={line}>
          {t("verdict.helps")} <Prose>{line}</Prose>
        </Text>
      ))}
    </Card>
  );
}

function limitOf({ error, diagnosis }: ProbeLeg): string {
  return error === "" ? (diagnosis?.said ?? "") : error;
}
