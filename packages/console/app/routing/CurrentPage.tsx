import { Notice } from "@tollgate/ui/components/Notice.tsx"
import { Skeleton } from "@tollgate/ui/components/Skeleton.tsx"
import type { ComponentType } from "preact"
import { useEffect, useState } from "preact/hooks"
import { PageHeader } from "../components/PageHeader.tsx"
import { findPage, type PageParams } from "./pages.ts"
import { address } from "./router.ts"

type Loaded = { readonly pattern: string; readonly Page: ComponentType<{ readonly params: PageParams }> | undefined }

/** The page of the current address. */
export const CurrentPage = () => {
  const found = findPage(address.value.segments)
  const [loaded, setLoaded] = useState<Loaded>()
  const pattern = found?.route.pattern
  useEffect(() => {
    let isCurrent = true
    found?.route.load().then(
      (Page) => isCurrent && setLoaded({ pattern: found.route.pattern, Page }),
      () => isCurrent && setLoaded({ pattern: found.route.pattern, Page: undefined })
    )
    return () => {
      isCurrent = false
    }
  }, [pattern])
  if (found === undefined) {
    return (
      <>
        <PageHeader title="There is no such page" />
        <a href="#/">Go to the start</a>
      </>
    )
  }
  if (loaded?.pattern !== pattern) return <Skeleton />
  if (loaded?.Page === undefined) {
    return (
      <Notice kind="error">
        A part of the console cannot be loaded. The server may have a new version: reload this page.
      </Notice>
    )
  }
  // A new key for each item, so that no state of one item is shown with another.
  return <loaded.Page key={JSON.stringify(found.params)} params={found.params} />
}
