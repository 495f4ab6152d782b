import { Badge } from "@mantine/core";
import { api, done } from "../api/client";
import { sessionsQuery } from "../api/people-queries";
import type { OpenSession } from "../api/schema";
import { t, tData } from "../i18n";
import { Endable } from "../ui/Endable";
import { Time } from "../ui/basics";

/** Where somebody is signed in: oneself, or `person`, whose sessions an administrator ends. */
export function Sessions({ sessions, person }: { sessions: OpenSession[]; person?: string }) {
  const ended = (session: string) =>
    person === undefined
      ? api.DELETE("/api/v1/sessions/{session}", { params: { path: { session } } })
      : api.DELETE("/api/v1/people/{person}/sessions/{session}", { params: { path: { person, session } } });
  return (
    <Endable
      title={t("account.sessions")}
      rows={sessions}
      idOf={({ id }) => id}
      columns={[
        [t("account.sessions.how"), (one) => <>{tData("account.method", one.method)} {one.current && <Badge>{t("account.sessions.this")}</Badge>}</>],
        [t("account.sessions.began"), (one) => <Time value={one.created} />],
        [t("account.sessions.used"), (one) => <Time value={one.last_used} />],
        [t("account.sessions.until"), (one) => <Time value={one.expires} />],
      ]}
      words={{
        verb: t("account.sessions.end"),
        ask: () => t("account.sessions.ask"),
        detail: t("account.sessions.ask.detail"),
        told: t("account.sessions.ended"),
      }}
      end={({ id }) => done(ended(id))}
      changes={[sessionsQuery.queryKey]}
      stays={({ current }) => current}
      several={{
        verb: person === undefined ? t("account.sessions.endOthers") : t("person.sessions.endAll"),
        none: person === undefined ? t("account.sessions.noOthers") : t("person.sessions.none"),
        rows: sessions.filter(({ current }) => !current),
      }}
      empty={t("person.sessions.none")}
    />
  );
}
