import { PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { signedIn } from "../api/session";
import { t } from "../i18n";
import { Act, Failure } from "../ui/basics";
import { Gate } from "../shell/Gate";

const route = getRouteApi("/sign-in");

export function SignIn() {
  const { next } = route.useSearch();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/sessions", { body: { name, password } })),
    onSuccess: () => signedIn(next),
  });
  return (
    <Gate
      title={t("signIn.title")}
      onSubmit={() => {
        signIn.mutate();
      }}
    >
      <TextInput label={t("person.name")} autoComplete="username" required withAsterisk={false} value={name} onChange={(event) => setName(event.currentTarget.value)} autoFocus />
      <PasswordInput
        label={t("person.password")}
        autoComplete="current-password"
        required
        withAsterisk={false}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        visibilityToggleButtonProps={{ "aria-label": t("person.password.show"), tabIndex: 0 }}
      />
      {signIn.isError && <Failure error={signIn.error} />}
      <Act type="submit" size="sm" loading={signIn.isPending}>
        {t("action.signIn")}
      </Act>
    </Gate>
  );
}
