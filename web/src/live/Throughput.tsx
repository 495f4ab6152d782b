/** The rate over time, as it is kept and as the page sees it: a graph, and the table that stands in for it. */

import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { clock, useZone } from "../format/time";
import { bytes, rate } from "../format/units";
import { t } from "../i18n";
import { Loading } from "../ui/basics";
import { throughputQuery } from "../api/queries";
import { whole, type Point } from "./series";
import { seriesKey } from "./watch";
import classes from "./Throughput.module.css";

const Chart = lazy(() => import("./Chart"));
const IN_TABLE = 30;

export function Throughput({ transfer, ended }: { transfer: string; ended: boolean }) {
  const zone = useZone();
  // Written by the watch alone: nothing is fetched here.
  const { data: series } = useQuery<readonly Point[]>({ queryKey: seriesKey(transfer), queryFn: () => [], enabled: false });
  const { data: kept } = useQuery(throughputQuery(transfer, ended));
  const points = whole(kept, ended ? [] : (series ?? []));
  if (points.length < 2 || points.every(({ bps }) => bps === 0)) {
    return ended ? null : <Text c="dimmed">{t("throughput.none")}</Text>;
  }
  return (
    <>
      <Suspense fallback={<Loading />}>
        <Chart points={points} />
      </Suspense>
      <details>
        <summary>{t("throughput.table")}</summary>
        <div className={classes.table} tabIndex={0} role="region" aria-label={t("throughput.table")}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t("throughput.time")}</Table.Th>
                <Table.Th>{t("throughput.rate")}</Table.Th>
                <Table.Th>{t("throughput.durable")}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {points.slice(-IN_TABLE).reverse().map(({ atMs, bps, durable }) => (
                <Table.Tr key={atMs}>
                  <Table.Td>{clock(atMs, zone)}</Table.Td>
                  <Table.Td>{rate(bps)}</Table.Td>
                  <Table.Td>{bytes(durable)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      </details>
    </>
  );
}
