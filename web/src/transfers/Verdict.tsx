/** What limits a transfer, or limited it: one verdict, the figures it stands on, and what helps. */

import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { diagnosisQuery } from "../api/queries";
import { visible } from "../format/text";
import { duration } from "../format/time";
import { bytes, rate } from "../format/units";
import { t } from "../i18n";
import { Prose } from "../ui/Prose";
import { Card, Facts } from "../ui/basics";

export function Verdict({ transfer, ended }: { transfer: string; ended: boolean }) {
  const { data } = useQuery(diagnosisQuery(transfer, ended));
  if (data === undefined || data.limit === "unknown") return null;
  return (
    <Card title={t(ended ? "verdict.ended" : "verdict.title")}>
      <Text fw={600}>
        <Prose>{data.said}</Prose>
      </Text>
      <Facts rows={data.evidence.map(({ name, value, unit }) => [visible(name), figure(value, unit)] as const)} />
      {data.remedy.map((line) => (
        <Text key={line}>
          {t("verdict.helps")} <Prose>{line}</Prose>
        </Text>
      ))}
      {data.measured_s > 0 && (
        <Text size="sm" c="dimmed">
          {t("verdict.over", { time: duration(data.measured_s) })}
        </Text>
      )}
    </Card>
  );
}

function figure(value: number, unit: string): string {
  if (unit === "b/s") return rate(value);
  if (unit === "B") return bytes(value);
  return `${value.toString()} ${unit}`.trim();
}
