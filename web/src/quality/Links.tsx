/** Links, and what transfers take of them now: a bar each, and over the time that the page is open. */

import { Table, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { Qos, QosLink, QosLinkUse, TransferShare } from "../api/schema";
import { shortId } from "../format/path";
import { visible } from "../format/text";
import { rate } from "../format/units";
import { t } from "../i18n";
import { Listing } from "../ui/Listing";
import { Card, Empty, Facts, Loading } from "../ui/basics";
import table from "../ui/Table.module.css";
import { hueOf } from "./hues";
import { qosSeriesKey } from "./queries";
import { wayKey, type Taken } from "./series";
import { ShareBar, ShareKey } from "./ShareBar";
import classes from "./quality.module.css";

const StackedChart = lazy(() => import("./StackedChart"));

export function Links({ qos }: { qos: Qos }) {
  const { links } = qos.document;
  if (links.length === 0) {
    return (
      <Card title={t("quality.links")}>
        <Empty title={t("quality.links.none")}>{t("quality.links.none.detail")}</Empty>
      </Card>
    );
  }
  return links.map((link) => <OneLink key={link.name} link={link} qos={qos} />);
}

function OneLink({ link, qos }: { link: QosLink; qos: Qos }) {
  const capacity = link.rate_bps ?? null;
  const gone = qos.unknown_nodes.filter((name) => link.nodes.includes(name) || link.peers.includes(name));
  return (
    <Card title={t("quality.link", { name: link.name })}>
      <Facts
        rows={[
          [t("quality.link.rate"), capacity === null ? t("quality.link.free") : t("quality.link.each", { rate: rate(capacity) })],
          [t("quality.link.nodes"), link.nodes.map(visible).join(", ")],
          [t("quality.link.peers"), link.peers.length === 0 ? t("quality.link.everybody") : link.peers.map(visible).join(", ")],
          [t("quality.link.rest"), `${link.rest_percent.toString()} %`],
          ...(gone.length === 0 ? [] : [[t("quality.link.gone"), gone.map(visible).join(", ")] as const]),
        ]}
      />
      {qos.use.filter((use) => use.link === link.name).map((use) => (
        <Way key={use.way} use={use} capacity={capacity} order={qos.document.classes.map(({ name }) => name)} />
      ))}
    </Card>
  );
}

function Way({ use: { link, way, transfers }, capacity, order }: { use: QosLinkUse; capacity: number | null; order: readonly string[] }) {
  const title = t(way === "out" ? "quality.out" : "quality.in", { link });
  // Written by the page alone: nothing is fetched here.
  const { data: series = [] } = useQuery<readonly Taken[]>({ queryKey: qosSeriesKey, queryFn: () => [], enabled: false });
  const moved = series.filter(({ of }) => (of.get(wayKey(link, way))?.size ?? 0) > 0).length;
  if (transfers.length === 0 && moved === 0) {
    return (
      <div>
        <Title order={3}>{title}</Title>
        <p className={classes.small}>{t("quality.idle")}</p>
      </div>
    );
  }
  const sum = transfers.reduce((all, { actual_bps: bps }) => all + bps, 0);
  const most = capacity ?? Math.max(sum, ...transfers.map(({ entitled_bps: bps }) => bps ?? 0));
  const taken = capacity === null ? rate(sum) : t("quality.taken.of", { taken: rate(sum), rate: rate(capacity) });
  return (
    <>
      <div className={classes.weekHead}>
        <Title order={3}>{title}</Title>
        <span className={classes.small}>{t("quality.taken", { taken })}</span>
      </div>
      {moved > 1 && (
        <Suspense fallback={<Loading />}>
          <StackedChart series={series} of={wayKey(link, way)} order={order} capacity={capacity} label={t("quality.chart", { title, taken })} />
        </Suspense>
      )}
      {transfers.length > 0 && (
        <>
          <ShareKey />
          <Listing part label={t("quality.shares", { title })} heads={[t("quality.transfer"), t("quality.class"), t("quality.share"), t("quality.takes"), t("quality.entitled"), t("quality.guaranteed")]}>
            {transfers.map((one, index) => (
              <Share key={`${one.transfer} ${index}`} share={one} most={most} order={order} />
            ))}
          </Listing>
        </>
      )}
    </>
  );
}

function Share({ share, most, order }: { share: TransferShare; most: number; order: readonly string[] }) {
  const { transfer, qos_class: name, actual_bps: takes, entitled_bps: entitled, guaranteed_bps: guaranteed, needed_bps: needed, kept_later: later } = share;
  const hue = hueOf(order, name);
  return (
    <Table.Tr>
      <Table.Td className={table.id}>
        {transfer === "" ? (
          t("quality.somebody")
        ) : (
          <Link to="/transfers/$transfer" params={{ transfer }} className={table.link}>
            {shortId(transfer)}
          </Link>
        )}
      </Table.Td>
      <Table.Td>
        <ClassName name={name} hue={hue} />
      </Table.Td>
      <Table.Td>
        <ShareBar takes={takes} entitled={entitled ?? null} most={most} hue={hue} />
      </Table.Td>
      <Table.Td>{rate(takes)}</Table.Td>
      <Table.Td>{entitled == null ? t("quality.free") : rate(entitled)}</Table.Td>
      <Table.Td>
        {needed === 0 ? t("value.none") : guaranteed < needed ? t(later ? "quality.later" : "quality.short", { guaranteed: rate(guaranteed), needed: rate(needed) }) : rate(guaranteed)}
      </Table.Td>
    </Table.Tr>
  );
}

export function ClassName({ name, hue }: { name: string; hue: string }) {
  return (
    <span className={classes.name}>
      <span className={classes.swatch} style={{ background: hue }} aria-hidden />
      {visible(name)}
    </span>
  );
}
