import { trimPathRight, useMatch, useRouter } from "@tanstack/react-router";

/** Whether the person is still on this page, and not on the way to another: what comes late (words that rested, an
 * answer of the service) asks it before it changes the address, so that nobody is pulled back. */
export function useStaying(): () => boolean {
  const router = useRouter();
  const page = useMatch({ strict: false, select: ({ pathname }) => pathname });
  // The history knows of a change at once; the page is drawn until the next one has been loaded.
  return () => trimPathRight(router.history.location.pathname) === trimPathRight(page);
}
