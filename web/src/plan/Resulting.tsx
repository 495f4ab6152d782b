import { Text } from "@mantine/core";
import { visible } from "../format/text";
import { t } from "../i18n";
import { resulting } from "./intent";

/** Under which name the source will be at the destination; nothing while one of them is missing. */
export function Resulting({ source, destination }: { source: string; destination: string }) {
  const will = resulting(source, destination);
  if (will === null) return null;
  const where = visible(will.where);
  return (
    <Text size="sm" role="status">
      {will.poured ? t("browse.becomes.contents", { source: visible(source), where }) : t("browse.becomes", { where })}
    </Text>
  );
}
