/**
 * Declares the list of projects. `Projects.ts` implements it.
 */
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authenticated } from "../api/Authenticated.ts"
import type { PageOptions, PagePromise } from "../api/Methods.ts"
import { Owner } from "../api/Owner.ts"
import { parameters } from "../api/parameters.ts"
import { page } from "../api/query.ts"
import { rejectUnknown } from "../api/rejectUnknown.ts"
import { ListedItem, type ListedItemJson } from "../schema/ListedItem.ts"
import { AccountName, ProjectName } from "../schema/Names.ts"
import { Page } from "../schema/Page.ts"

export class ProjectsApi extends HttpApiGroup.make("projects")
  .add(
    HttpApiEndpoint.get("list", "/accounts/:accountName/projects", {
      params: { accountName: AccountName },
      query: parameters(page),
      success: Page(ListedItem(ProjectName, "Project"))
    })
      .annotate(HttpApi.QueryParseOptions, rejectUnknown)
      .annotate(OpenApi.Summary, "List projects")
      .annotate(
        OpenApi.Description,
        "Returns the projects of the account, oldest first. A project exists while it has a deployment, or " +
          "an upload in progress."
      )
      .annotate(Owner, "account")
  )
  .prefix("/v1")
  .middleware(Authenticated)
  .annotateMerge(OpenApi.annotations({ title: "Projects", description: "Containers of deployments." })) {}

/** The projects of an account. */
export interface ProjectsMethods {
  /**
   * Returns a page of the projects, oldest first. Iterate over it to get all pages. A project exists while it has a
   * deployment, or an upload in progress.
   */
  list(options?: PageOptions): PagePromise<ListedItemJson>
}
