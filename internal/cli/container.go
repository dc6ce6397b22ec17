package cli

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/variform/variform/internal/render"
)

// containerFlags say how functions run that only a container engine can run.
type containerFlags struct {
	pull    string
	memory  string
	timeout time.Duration
	fresh   bool
}

// pullPolicies are those of kpt.
var pullPolicies = []string{string(render.PullAlways), string(render.PullIfNotPresent), string(render.PullNever)}

func (cf *containerFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&cf.pull, "image-pull-policy", string(render.PullIfNotPresent), "when to pull function images: Always (once a run), IfNotPresent or Never")
	f.StringVar(&cf.memory, "container-memory", "1Gi", "memory of one function container")
	f.BoolVar(&cf.fresh, "fresh-containers", false, "one container for each call, also where one could serve many")
	f.DurationVar(&cf.timeout, "function-timeout", 5*time.Minute, "time for one call of a function")
	_ = c.RegisterFlagCompletionFunc("image-pull-policy", cobra.FixedCompletions(pullPolicies, cobra.ShellCompDirectiveNoFileComp))
}

// minMemory is what engines need to start a container at all.
const minMemory = 16 << 20

func (cf *containerFlags) apply(o *render.Options) error {
	if !slices.Contains(pullPolicies, cf.pull) {
		return fmt.Errorf("--image-pull-policy %q: choose Always, IfNotPresent or Never", cf.pull)
	}
	q, err := resource.ParseQuantity(cf.memory)
	if err != nil || q.CmpInt64(minMemory) < 0 || q.CmpInt64(math.MaxInt64) >= 0 {
		return fmt.Errorf("--container-memory %q: give at least 16Mi, such as 512Mi or 2Gi", cf.memory)
	}
	if cf.timeout <= 0 {
		return fmt.Errorf("--function-timeout %s: give more than 0, such as 30s or 5m", cf.timeout)
	}
	o.ImagePullPolicy, o.Memory, o.Timeout = render.PullPolicy(cf.pull), q.Value(), cf.timeout
	if !cf.fresh {
		o.ContainerHelper, _ = os.Executable() // without one, each call has a container of its own
	}
	return nil
}

// newContainerHelper is what this program runs as inside of function containers.
func newContainerHelper(a *app) *cobra.Command {
	return &cobra.Command{
		Use: render.HelperCommand, Short: "Run a function again and again inside of its container",
		Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return render.Helper(args, a.In, a.Out) },
	}
}

// newFunctionWorker is what this program runs as to bound what scripts cost.
func newFunctionWorker(a *app) *cobra.Command {
	return &cobra.Command{
		Use: render.WorkerCommand + " FUNCTION@VERSION", Short: "Run a built-in function again and again within bounds",
		Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return render.Work(args[0], a.In, a.Out) },
	}
}
