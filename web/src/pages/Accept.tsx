/** An invitation or the first administrator's link. The token is in the fragment, so no server log sees it. */

import { PasswordInput, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { inWords } from "../api/problem";
import { signedIn } from "../api/session";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Act, Failure } from "../ui/basics";
import { Gate } from "../shell/Gate";

/** The code of a link that was used already, is too old, or was never good. */
const REFUSED = "invitation_refused";

export function Accept() {
  const token = useLocation({ select: ({ hash }) => hash });
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const accept = useMutation({
    mutationFn: () =>
      answer(api.POST("/api/v1/invitations/accept", { body: { token, password, name: name === "" ? null : name } })),
    onSuccess: () => signedIn(undefined),
  });
  // Whom the link invites; the first administrator has no name yet. A link that is no good says so at once; what
  // else keeps the service from answering does so when the link is used.
  const look = useQuery({
    queryKey: ["invited", token],
    queryFn: () => answer(api.POST("/api/v1/invitations/look", { body: { token } })),
    enabled: token !== "",
    retry: false,
    staleTime: Infinity,
  });
  const { data: invited, isError } = look;
  const used = isError && inWords(look.error).code === REFUSED;
  return (
    <Gate title={t("accept.title")} onSubmit={accept.mutate}>
      {token === "" && <Text role="alert">{t("accept.noToken")}</Text>}
      {used && (
        <>
          <Failure error={look.error} bare />
          <Link to="/sign-in">{t("accept.signIn")}</Link>
        </>
      )}
      {token !== "" && !used && !look.isPending && (
        <>
          {invited?.name != null && (
            <TextInput label={t("person.name")} description={t("accept.as", { name: visible(invited.name) })} autoComplete="username" readOnly value={invited.name} />
          )}
          {(invited?.name === null || isError) && (
            <TextInput
              label={t("accept.name")}
              description={t("accept.name.detail")}
              autoComplete="username"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
          <PasswordInput
            label={t("accept.password")}
            description={t("accept.password.detail")}
            autoComplete="new-password"
            required
            withAsterisk={false}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            visibilityToggleButtonProps={{ "aria-label": t("person.password.show"), tabIndex: 0 }}
          />
          {accept.isError && <Failure error={accept.error} />}
          <Act type="submit" size="sm" loading={accept.isPending}>
            {t("action.accept")}
          </Act>
        </>
      )}
    </Gate>
  );
}
