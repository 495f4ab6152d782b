import { PasswordInput } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { sessionsQuery } from "../api/people-queries";
import { meQuery } from "../api/queries";
import { visible } from "../format/text";
import { Passkeys } from "../people/Passkeys";
import { Sessions } from "../people/Sessions";
import { t, tData } from "../i18n";
import { Act, Card, Facts, Failure, Page, Stack } from "../ui/basics";
import { tell } from "../ui/toasts";

/** What a person may do, their own sessions, and the password here. */
export function Account() {
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: sessions } = useSuspenseQuery(sessionsQuery);
  const local = sessions.some(({ current, method }) => current && method === "password");
  return (
    <Page title={t("account.title")} lead={t("account.lead")}>
      <Stack>
        <Card title={visible(me.name)}>
          <Facts
            rows={[
              [t("people.roles"), me.roles.map((role) => tData("role", role)).join(", ")],
              [t("person.groups"), me.groups.map(visible).join(", ") || t("account.groups.none")],
              [t("account.sessions.how"), me.issuer == null ? tData("account.method", me.method) : `${tData("account.method", me.method)} (${visible(me.issuer)})`],
            ]}
          />
        </Card>
        <Sessions sessions={sessions} />
        <Passkeys />
        {local && <Password />}
      </Stack>
    </Page>
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
