import { EmptyState } from "@tollgate/ui/components/EmptyState.tsx"

export const NotConfigured = () => (
  <EmptyState title="This server has no deployments">
    <p>
      Deployments are a module. Pass <code>publicUrl</code> and{" "}
      <code>modules: [deployments(sites(&#123; folder: "data/sites" &#125;))]</code> to <code>createTollgate</code>,
      with <code>@tollgate/deployments</code> and <code>@tollgate/sites</code>.
    </p>
  </EmptyState>
)
