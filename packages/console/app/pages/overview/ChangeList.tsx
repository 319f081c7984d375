import { get, toPath } from "@tollgate/ui/api/request.ts"
import { QueryView } from "@tollgate/ui/components/QueryView.tsx"
import { Table } from "@tollgate/ui/components/Table.tsx"
import { Time } from "@tollgate/ui/components/Time.tsx"
import { useQuery } from "@tollgate/ui/data/useQuery.ts"
import type { EventJson, PageJson } from "../../api/types.ts"
import { linkTo } from "../../routing/router.ts"
import { describeActor } from "../events/describeActor.ts"
import { Subject } from "../events/Subject.tsx"

/** How many events are searched, and how many changes shown. */
const [maxEvents, maxShown] = [200, 8]

/** What people have changed lately, as opposed to the server. */
export const ChangeList = ({ account }: { readonly account: string }) => {
  const changes = useQuery(`changes ${account}`, async (signal) => {
    const path = `${toPath("/v1/accounts", account)}/events`
    const { data } = await get<PageJson<EventJson>>(path, { limit: maxEvents }, signal)
    return data.filter(({ actor }) => actor.name !== undefined).slice(0, maxShown)
  })
  return (
    <QueryView query={changes}>
      {(changes) =>
        changes.length === 0 ? (
          <p class="hint">None among the latest {maxEvents} events. Sessions of people and named tokens appear here.</p>
        ) : (
          <Table
            caption="Changes by people, newest first"
            rows={changes}
            getKey={({ id }) => id}
            columns={[
              { title: "Who", render: ({ actor }) => describeActor(actor) },
              {
                title: "What",
                render: ({ type, accountName, subject }) => (
                  <a href={linkTo(["accounts", accountName, "events"], { type, subject: subject.id })}>{type}</a>
                )
              },
              { title: "About", render: (event) => <Subject event={event} /> },
              { title: "When", render: ({ occurredOn }) => <Time value={occurredOn} /> }
            ]}
          />
        )
      }
    </QueryView>
  )
}
