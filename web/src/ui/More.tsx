import { Button } from "@mantine/core";
import { t } from "../i18n";

interface Props {
  list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => Promise<unknown> };
  /** Of which list, where a page has several. */
  of: string;
}

/** The button below a list that has a next page. */
export function More({ list, of }: Props) {
  return (
    list.hasNextPage && (
      <Button variant="default" loading={list.isFetchingNextPage} aria-label={`${t("action.more")}: ${of}`} onClick={() => void list.fetchNextPage()}>
        {t("action.more")}
      </Button>
    )
  );
}
