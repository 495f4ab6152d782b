/** Where a fresh sign-in at the provider ends. What it proves is in the fragment, so no server log sees it. */

import { Alert, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { t } from "../i18n";
import { Gate } from "../shell/Gate";

const route = getRouteApi("/proven");

export function Proven() {
  const { id, refused } = route.useSearch();
  return (
    <Gate title={t("proven.title")} onSubmit={() => undefined}>
      {refused === undefined && id !== undefined ? (
        <Text>{t("proven.told")}</Text>
      ) : (
        <Alert color="red" role="alert">
          {t(`proven.refused.${refused ?? "provider_proof_refused"}`)}
        </Alert>
      )}
    </Gate>
  );
}
