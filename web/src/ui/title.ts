import { useDocumentTitle } from "@mantine/hooks";

/** The title of the browser's tab says which page it is, before whose. */
export function useTabTitle(title: string): void {
  useDocumentTitle(`${title} · Headrace`);
}
