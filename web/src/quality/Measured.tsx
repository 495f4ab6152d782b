/** What both nodes measured of a transfer: its data connections, and the stages of the work. */

import { Badge, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Flow, Measured, MeasuredSide } from "../api/schema";
import { visible } from "../format/text";
import { duration } from "../format/time";
import { bytes, count, rate } from "../format/units";
import { t, tData } from "../i18n";
import { Listing } from "../ui/Listing";
import { Card, Empty, Facts, Loading, Stack } from "../ui/basics";
import { measuredQuery } from "./queries";
import { tightest } from "./stages";
import classes from "./quality.module.css";

interface Props {
  transfer: string;
  ended: boolean;
}

export function Streams({ transfer, ended }: Props) {
  const { data } = useQuery(measuredQuery(transfer, ended));
  if (data === undefined) return <Loading />;
  if (data.source.flows.length === 0 && data.destination.flows.length === 0) {
    return <Empty title={t("streams.none")}>{t("streams.none.detail")}</Empty>;
  }
  return (
    <Stack>
      <Flows title={t("streams.sent")} side={data.source} row={sent} heads={SENT} />
      <Flows title={t("streams.received")} side={data.destination} row={received} heads={RECEIVED} />
      <Over measured={data} />
    </Stack>
  );
}

const SENT = ["streams.number", "streams.rate", "streams.rtt", "streams.cwnd", "streams.delivery", "streams.retransmits", "streams.limited", "streams.control"] as const;
const RECEIVED = ["streams.number", "streams.rate", "streams.rtt", "streams.window"] as const;

interface FlowsProps {
  title: string;
  side: MeasuredSide;
  row: (flow: Flow) => readonly string[];
  heads: typeof SENT | typeof RECEIVED;
}

function Flows({ title, side, row, heads }: FlowsProps) {
  if (side.flows.length === 0) return null;
  return (
    <Card title={side.node === "" ? title : `${title}: ${visible(side.node)}`}>
      <Listing part label={title} heads={heads.map((head) => t(head))}>
        {side.flows.map((flow) => (
          <Table.Tr key={flow.stream}>
            {row(flow).map((cell, index) => (
              <Table.Td key={heads[index] ?? index} className={classes.figure}>
                {cell}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Listing>
    </Card>
  );
}

function sent(flow: Flow): readonly string[] {
  const limits = [
    ["streams.limited.rwnd", flow.rwnd_limited_percent],
    ["streams.limited.sndbuf", flow.sndbuf_limited_percent],
    ["streams.limited.app", flow.app_limited_percent],
  ] as const;
  const limited = limits.filter(([, percent]) => percent >= 1).map(([what, percent]) => t(what, { percent: Math.round(percent) }));
  const again = flow.sent_packets > 0 ? (100 * flow.retransmits) / flow.sent_packets : 0;
  return [
    count(flow.stream),
    rate(flow.rate_bps),
    trips(flow),
    bytes(flow.cwnd_bytes),
    flow.delivery_rate_bps === 0 ? t("value.none") : rate(flow.delivery_rate_bps),
    t("streams.again", { count: count(flow.retransmits), percent: again.toFixed(2) }),
    limited.join(", ") || t("value.none"),
    [visible(flow.congestion_control), flow.pacing_rate_bps === 0 ? "" : t("streams.paced", { rate: rate(flow.pacing_rate_bps) })].filter((said) => said !== "").join(", "),
  ];
}

function received(flow: Flow): readonly string[] {
  return [count(flow.stream), rate(flow.rate_bps), trips(flow), flow.receive_window_bytes === 0 ? t("value.none") : bytes(flow.receive_window_bytes)];
}

function trips({ rtt_us: rtt, min_rtt_us: least }: Flow): string {
  if (rtt === 0) return t("value.none");
  return least === 0 ? millis(rtt) : t("streams.rtt.least", { rtt: millis(rtt), least: millis(least) });
}

function millis(micros: number): string {
  const ms = micros / 1000;
  if (ms < 1) return `${count(micros)} µs`;
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(0)} ms`;
}

export function Stages({ transfer, ended }: Props) {
  const { data } = useQuery(measuredQuery(transfer, ended));
  if (data === undefined) return <Loading />;
  if (data.source.stages.length === 0 && data.destination.stages.length === 0) {
    return <Empty title={t("stages.none")}>{t("stages.none.detail")}</Empty>;
  }
  const found = tightest(data);
  return (
    <Stack>
      <Basin title={t("stages.source")} side={data.source} tightest={found?.side === "source" ? found.name : null} />
      <Basin title={t("stages.destination")} side={data.destination} tightest={found?.side === "destination" ? found.name : null} />
      <Over measured={data} />
    </Stack>
  );
}

function Basin({ title, side, tightest: narrow }: { title: string; side: MeasuredSide; tightest: string | null }) {
  if (side.stages.length === 0) return null;
  return (
    <Card title={side.node === "" ? title : `${title}: ${visible(side.node)}`}>
      <p className={classes.small}>{t("stages.threads.all", { threads: side.threads.toFixed(1) })}</p>
      <Listing part label={title} heads={[t("stages.stage"), t("stages.load"), t("stages.busy"), t("stages.capacity"), t("stages.threads")]}>
        {side.stages.map(({ name, busy_percent: busy, capacity_bps: capacity, threads }) => (
          <Table.Tr key={name}>
            <Table.Td>
              {tData("stage", name)}{" "}
              {name === narrow && (
                <Badge color="orange" size="sm">
                  {t("stages.tightest")}
                </Badge>
              )}
            </Table.Td>
            <Table.Td>
              <div className={classes.stage} role="img" aria-label={t("stages.bar", { stage: tData("stage", name), percent: busy.toFixed(0) })}>
                <div className={classes.load} data-tightest={name === narrow} style={{ inlineSize: `${busy.toFixed(1)}%` }} />
              </div>
            </Table.Td>
            <Table.Td>{busy.toFixed(1)} %</Table.Td>
            <Table.Td>{capacity == null ? t("value.none") : rate(capacity)}</Table.Td>
            <Table.Td>{threads.toFixed(2)}</Table.Td>
          </Table.Tr>
        ))}
      </Listing>
    </Card>
  );
}

function Over({ measured: { live, seconds, rate_bps: bps } }: { measured: Measured }) {
  return (
    <>
      <Facts rows={[[t(live ? "measured.rate" : "measured.rate.whole"), rate(bps)]]} />
      <Text c="dimmed">{t(live ? "measured.live" : "measured.whole", { time: duration(seconds) })}</Text>
    </>
  );
}
