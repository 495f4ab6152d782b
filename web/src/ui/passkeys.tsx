import { Text } from "@mantine/core";
import { whyNoPasskey } from "../api/passkey";
import { t } from "../i18n";

/** Why passkeys can't be used at this address, for everybody to read, with the way to where they can. */
export function NoPasskeysHere({ origin }: { origin: string | null | undefined }) {
  const why = whyNoPasskey(origin);
  if (why === null) return null;
  const { pathname, search } = window.location;
  return (
    <Text size="sm">
      {why}{" "}
      {origin != null && window.location.origin !== origin && <a href={`${origin}${pathname}${search}`}>{t("passkey.open")}</a>}
    </Text>
  );
}
