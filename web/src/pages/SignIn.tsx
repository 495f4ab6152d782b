import { Alert, Button, PasswordInput, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { NoAnswer, signed, whyNoPasskey } from "../api/passkey";
import { waysQuery } from "../api/queries";
import { placeHere, signedIn } from "../api/session";
import { t } from "../i18n";
import { Act, Failure } from "../ui/basics";
import { NoPasskeysHere } from "../ui/passkeys";
import { Gate } from "../shell/Gate";

const route = getRouteApi("/sign-in");

export function SignIn() {
  const { next, refused } = route.useSearch();
  const { data: ways } = useQuery(waysQuery);
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/sessions", { body: { name, password } })),
    onSuccess: () => signedIn(next),
  });
  const byPasskey = useMutation({
    mutationFn: async () => {
      const asked = await answer(api.POST("/api/v1/sessions/passkey/challenge"));
      return answer(api.POST("/api/v1/sessions/passkey", { body: await signed(asked) }));
    },
    onSuccess: () => signedIn(next),
  });
  return (
    <Gate
      title={t("signIn.title")}
      onSubmit={() => {
        signIn.mutate();
      }}
    >
      <TextInput
        label={t("person.name")}
        description={ways?.directory === true ? t("signIn.directory") : undefined}
        autoComplete="username"
        required
        withAsterisk={false}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        autoFocus
      />
      <PasswordInput
        label={t("person.password")}
        autoComplete="current-password"
        required
        withAsterisk={false}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        visibilityToggleButtonProps={{ "aria-label": t("person.password.show"), tabIndex: 0 }}
      />
      {signIn.isError && <Failure error={signIn.error} bare />}
      <Act type="submit" size="sm" loading={signIn.isPending}>
        {t("action.signIn")}
      </Act>
      {refused !== undefined && !signIn.isError && (
        <Alert color="red" role="alert">
          {t(`signIn.refused.${refused}`)}
        </Alert>
      )}
      {ways?.passkeys != null && (
        <>
          <Act variant="default" size="sm" blocked={whyNoPasskey(ways.passkeys)} loading={byPasskey.isPending} onClick={() => byPasskey.mutate()}>
            {t("signIn.passkey")}
          </Act>
          <NoPasskeysHere origin={ways.passkeys} />
        </>
      )}
      {byPasskey.isError && <Failure error={byPasskey.error instanceof NoAnswer ? new NoAnswer(t("signIn.noPasskey")) : byPasskey.error} bare />}
      {ways?.providers.map(({ id, name }) => (
        <Button key={id} component="a" variant="default" size="sm" href={beginning(id, next)}>
          {t("signIn.with", { name })}
        </Button>
      ))}
      <Text size="sm" c="dimmed">
        {t("signIn.help")}
      </Text>
    </Gate>
  );
}

/** The service takes no longer path than this to go on at. */
const LONGEST = 500;

function beginning(provider: string, next: string | undefined): string {
  const here = placeHere(next);
  return `/api/v1/sign-in/${provider}?${new URLSearchParams(here.length > LONGEST ? {} : { next: here }).toString()}`;
}
