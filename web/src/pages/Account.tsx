import { Badge, PasswordInput, Table } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api, done } from "../api/client";
import { sessionsQuery } from "../api/queries";
import type { OpenSession } from "../api/schema";
import { Passkeys } from "../people/Passkeys";
import { t, tData } from "../i18n";
import { Reasoned } from "../transfers/Reasoned";
import { Listing } from "../ui/Listing";
import { useAsked } from "../ui/asked";
import { Act, Card, Failure, Page, Stack, Time } from "../ui/basics";
import { tell } from "../ui/toasts";

/** A person's own sessions, and the password here. */
export function Account() {
  const { data: sessions } = useSuspenseQuery(sessionsQuery);
  const local = sessions.some(({ current, method }) => current && method === "password");
  return (
    <Page title={t("account.title")} lead={t("account.lead")}>
      <Stack>
        <Sessions sessions={sessions} />
        <Passkeys />
        {local && <Password />}
      </Stack>
    </Page>
  );
}

function Sessions({ sessions }: { sessions: OpenSession[] }) {
  const others = sessions.filter(({ current }) => !current);
  const ending = useAsked({
    act: async (ended: OpenSession[]) => {
      for (const { id } of ended) await done(api.DELETE("/api/v1/sessions/{session}", { params: { path: { session: id } } }));
    },
    told: () => t("account.sessions.ended"),
    changes: [sessionsQuery.queryKey],
  });
  return (
    <Card
      title={t("account.sessions")}
      actions={
        <Act color="red" variant="outline" blocked={others.length === 0 ? t("account.sessions.noOthers") : null} onClick={() => ending.ask(others)}>
          {t("account.sessions.endOthers")}
        </Act>
      }
    >
      <Listing
        part
        label={t("account.sessions")}
        heads={[t("account.sessions.how"), t("account.sessions.began"), t("account.sessions.used"), t("account.sessions.until"), t("nodes.actions")]}
      >
        {sessions.map((session) => (
          <Table.Tr key={session.id}>
            <Table.Td>
              {tData("account.method", session.method)} {session.current && <Badge>{t("account.sessions.this")}</Badge>}
            </Table.Td>
            <Table.Td>
              <Time value={session.created} />
            </Table.Td>
            <Table.Td>
              <Time value={session.last_used} />
            </Table.Td>
            <Table.Td>
              <Time value={session.expires} />
            </Table.Td>
            <Table.Td>
              {!session.current && (
                <Act color="red" variant="outline" size="compact-xs" onClick={() => ending.ask([session])}>
                  {t("account.sessions.end")}
                </Act>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </Listing>
      {ending.one !== null && (
        <Reasoned
          title={t("account.sessions.ask")}
          detail={t("account.sessions.ask.detail")}
          verb={t("account.sessions.end")}
          reason="none"
          {...ending.dialog}
        />
      )}
    </Card>
  );
}

function Password() {
  const client = useQueryClient();
  const [password, setPassword] = useState("");
  const [fresh, setFresh] = useState("");
  const change = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/me/password", { body: { password, new_password: fresh } })),
    onSuccess: () => {
      setPassword("");
      setFresh("");
      tell(t("account.password.changed"));
      return client.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  const field = (label: string, value: string, set: (value: string) => void, autoComplete: string) => (
    <PasswordInput
      mb="sm"
      label={label}
      required
      withAsterisk={false}
      autoComplete={autoComplete}
      value={value}
      onChange={(event) => set(event.currentTarget.value)}
      visibilityToggleButtonProps={{ "aria-label": t("person.password.show"), tabIndex: 0 }}
    />
  );
  return (
    <Card title={t("account.password")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        {field(t("account.password.old"), password, setPassword, "current-password")}
        {field(t("account.password.new"), fresh, setFresh, "new-password")}
        {change.isError && <Failure error={change.error} />}
        <Act type="submit" loading={change.isPending}>
          {t("account.password.change")}
        </Act>
      </form>
    </Card>
  );
}
