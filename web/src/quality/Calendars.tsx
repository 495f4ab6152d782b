/** Calendars: the open hours of a week, and whether they are open now. */

import { Badge, Title } from "@mantine/core";
import { IconCircleCheck, IconClockPause } from "@tabler/icons-react";
import { Fragment } from "react";
import type { Qos, QosCalendar } from "../api/schema";
import { visible } from "../format/text";
import { useNow } from "../format/time";
import { t } from "../i18n";
import { Card } from "../ui/basics";
import { DAY_MINUTES, DAYS, nowIn, week } from "./week";
import classes from "./quality.module.css";

export function Calendars({ qos }: { qos: Qos }) {
  const { calendars, classes: all } = qos.document;
  if (calendars.length === 0) return null;
  return (
    <Card title={t("quality.calendars")}>
      <div className={classes.weeks}>
        {calendars.map((one) => (
          <Week key={one.name} calendar={one} open={qos.calendars_open[one.name] === true} of={all.filter(({ calendar }) => calendar === one.name).map(({ name }) => name)} />
        ))}
      </div>
    </Card>
  );
}

function Week({ calendar, open, of }: { calendar: QosCalendar; open: boolean; of: readonly string[] }) {
  const spans = week(calendar);
  const now = nowIn(calendar.zone, new Date(useNow()));
  const said = calendar.hours.map(({ days, opens, closes }) => t("quality.week.hours", { days: days.map((day) => t(`day.${day}`)).join(", "), opens, closes })).join("; ");
  const Glyph = open ? IconCircleCheck : IconClockPause;
  return (
    <section aria-label={visible(calendar.name)}>
      <div className={classes.weekHead}>
        <Title order={3}>{visible(calendar.name)}</Title>
        <Badge color={open ? "green" : "orange"} leftSection={<Glyph size={14} aria-hidden />}>
          {t(open ? "quality.open" : "quality.closed")}
        </Badge>
        <span className={classes.small}>{visible(calendar.zone)}</span>
      </div>
      <div className={classes.week} role="img" aria-label={said}>
        {DAYS.map((day) => (
          <Fragment key={day}>
            <span>{t(`day.${day}`)}</span>
            <div className={classes.day}>
              {spans[day].map(({ from, until }) => (
                <div key={from} className={classes.open} style={{ insetInlineStart: part(from), inlineSize: part(until - from) }} />
              ))}
              {now?.day === day && <div className={classes.now} style={{ insetInlineStart: part(now.minute) }} />}
            </div>
          </Fragment>
        ))}
        <span />
        <div className={classes.hours}>
          {["0", "6", "12", "18", "24"].map((hour) => (
            <span key={hour}>{hour}</span>
          ))}
        </div>
      </div>
      <div className={classes.small}>{said}</div>
      {calendar.closed.length > 0 && <div className={classes.small}>{t("quality.closedOn", { days: calendar.closed.join(", ") })}</div>}
      <div className={classes.small}>{of.length === 0 ? t("quality.week.unused") : t("quality.week.of", { classes: of.map(visible).join(", ") })}</div>
    </section>
  );
}

function part(minutes: number): string {
  return `${((minutes / DAY_MINUTES) * 100).toFixed(2)}%`;
}
