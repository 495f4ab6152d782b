/** Classes of transfers: what each gets, in which hours, and which rules of the policy give it. */

import { Table } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Qos, QosClass, QosClassLink } from "../api/schema";
import { visible } from "../format/text";
import { count, rate } from "../format/units";
import { t } from "../i18n";
import { Listing } from "../ui/Listing";
import { Card } from "../ui/basics";
import table from "../ui/Table.module.css";
import { hueOf } from "./hues";
import { ClassName } from "./Links";
import classes from "./quality.module.css";

export function Classes({ qos }: { qos: Qos }) {
  const order = qos.document.classes.map(({ name }) => name);
  return (
    <Card title={t("quality.classes")}>
      <p className={classes.small}>{t("quality.classes.lead")}</p>
      <Listing
        part
        label={t("quality.classes")}
        heads={[t("quality.class"), t("quality.weight"), t("quality.priority"), t("quality.onLinks"), t("quality.hours"), t("quality.mark"), t("quality.who")]}
      >
        {qos.document.classes.map((one) => (
          <Row key={one.name} one={one} hue={hueOf(order, one.name)} open={one.calendar == null ? null : qos.calendars_open[one.calendar] === true} rules={qos.given_by[one.name] ?? []} />
        ))}
      </Listing>
    </Card>
  );
}

function Row({ one, hue, open, rules }: { one: QosClass; hue: string; open: boolean | null; rules: readonly { id: string; reason: string }[] }) {
  return (
    <Table.Tr>
      <Table.Td>
        <ClassName name={one.name} hue={hue} />
      </Table.Td>
      <Table.Td>{count(one.weight)}</Table.Td>
      <Table.Td>{count(one.priority)}</Table.Td>
      <Table.Td className={classes.some}>{one.links.length === 0 ? t("value.none") : <ul className={classes.list}>{one.links.map((own) => <li key={own.link}>{onLink(own)}</li>)}</ul>}</Table.Td>
      <Table.Td className={classes.some}>{one.calendar == null ? t("quality.anyHour") : t(open === true ? "quality.inHours.open" : "quality.inHours.closed", { name: visible(one.calendar) })}</Table.Td>
      <Table.Td>{[one.dscp == null ? null : t("quality.dscp", { dscp: one.dscp }), one.congestion_control ?? null].filter((said) => said !== null).join(", ") || t("value.none")}</Table.Td>
      <Table.Td className={table.wide}>
        {rules.length === 0 ? (
          <span className={classes.small}>{t(NO_RULE[one.name] ?? "quality.who.nobody")}</span>
        ) : (
          <ul className={classes.list}>
            {rules.map(({ id, reason }) => (
              <li key={id}>
                <Link to="/policies" className={table.link}>
                  {visible(id)}
                </Link>{" "}
                <span className={classes.small}>{visible(reason)}</span>
              </li>
            ))}
          </ul>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

const NO_RULE: Readonly<Record<string, "quality.who.low" | "quality.who.everybody">> = { background: "quality.who.low", bulk: "quality.who.everybody" };

function onLink({ link, floor_bps: floor, ceiling_bps: ceiling }: QosClassLink): string {
  const said = [floor > 0 ? t("quality.floor", { rate: rate(floor) }) : null, ceiling == null ? null : t("quality.ceiling", { rate: rate(ceiling) })];
  return [visible(link), ...said.filter((one) => one !== null)].join(", ");
}
