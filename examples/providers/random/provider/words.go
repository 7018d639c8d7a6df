package provider

// The words of pets' names: lower-case ASCII, each once. Names are recorded, so that words may be
// added.

const adverbs = `
absently abundantly actively actually adamantly adequately admirably agreeably
amazingly amply ardently artfully astutely avidly awfully barely basically beautifully
blissfully boldly bravely breezily briefly brightly briskly broadly busily calmly
candidly carefully casually cautiously certainly charmingly cheerfully chiefly
cleanly clearly cleverly closely coherently comically commonly completely constantly
cordially correctly cozily creatively crisply curiously daily daintily daringly dearly
deeply deftly deliberately delicately delightfully densely dimly directly discreetly
distinctly divinely dreamily duly eagerly early earnestly easily effectively elegantly
eloquently eminently endlessly enormously entirely equally especially evenly evidently
exactly exotically expertly explicitly extremely fabulously fairly faithfully famously
fancifully fiercely finally finely firmly fluently fondly formally forever fortunately
frankly freely freshly fully gallantly generally generously gently genuinely gladly
gleefully globally gracefully gradually grandly gratefully greatly happily hardly
harmlessly heartily helpfully highly honestly hopefully humanely humbly ideally immensely
incredibly infinitely informally instantly intently intensely inwardly jointly jovially
joyfully jubilantly justly keenly kindly largely lately lazily legally lightly likely
lively locally loosely loudly lovingly loyally luckily lushly mainly merrily mildly
mindfully mostly mutually namely naturally nearly neatly newly nicely nimbly nobly
normally notably oddly openly optimally overly painstakingly partly patiently perfectly
placidly plainly playfully pleasantly politely possibly precisely preferably presently
promptly properly proudly purely quaintly quickly quietly quirkily radiantly rapidly
rarely readily really regally regularly reliably remarkably robustly roughly roundly
safely sedately seemingly sensibly serenely sharply shortly silently simply sincerely
skilfully sleekly slightly slowly smartly smoothly snugly softly solely solemnly soundly
sparsely speedily splendidly steadily sternly strangely strictly strongly stunningly
suddenly suitably superbly surely sweetly swiftly tenderly thankfully thoroughly tidily
tightly totally tranquilly truly trustfully ultimately uniformly uniquely usually utterly
vaguely vastly verily vigorously vividly warmly wholly widely wildly willingly wisely
wittily wonderfully zealously
`

const adjectives = `
adaptable adept agile airy amber ample ancient apt ardent arctic artful autumn avid azure
balanced beaming becoming beloved bemused benign blazing blissful blithe blooming blue
bold bonny bouncy brave breezy bright brilliant brisk bronze bubbly budding buoyant busy
calm candid capable careful caring cheerful cheery choice classic clean clear clement
clever close coastal colourful comic composed cool coral cordial cosmic cosy courtly
crafty creative crisp curious curly daring dapper dashing dazzling dear decent deep deft
delicate devoted diligent discreet dreamy driven durable dusky eager early earnest earthy
easy ebony educated elated elder electric elegant eloquent emerald eminent enduring
engaged enormous epic equal exact excited exotic expert fabled fair faithful famous fancy
fearless feathered festive fine firm fleet fluent fluffy flying fond formal forthright
fragrant frank free fresh friendly frosty full funny fuzzy gallant game generous gentle
genuine gifted giving glad gleaming glorious glowing golden good gracious grand grateful
great green grown guiding hallowed handy happy hardy harmless hearty helpful heroic
hidden honest hopeful huge humble humorous ideal idle immense ingenious innocent inspired
intent inventive iron ivory jade jaunty jolly jovial joyful jubilant just keen kind kindred
knowing large lasting laughing leafy learned legible light limber literate lively living
loyal lucid lucky luminous lunar magical magnetic majestic major marble mellow merry mighty
mild mindful mint misty mobile modern modest moral mossy musical native natural neat neutral
new nice nimble noble nocturnal normal northern notable novel oaken obliging olive open
optimal organic ornate outgoing patient peaceful pearly perfect petite placid plucky
pleasant poetic poised polar polished polite popular precise prime pristine profound prompt
proper proud prudent pure quaint quick quiet quirky quotable radiant rapid rare rational
ready real refined regal related reliable relaxed resolute rested rich ripe robust romantic
rosy round royal rugged ruling rural rustic sacred saffron sage sandy sapphire scenic secure
selected sensible serene settled shaggy sharp shining shy silent silken silver simple sincere
skilled sleek sleepy sleeping smart smiling smooth snowy snug social soft solar solid sonic
sought sound southern speedy splendid spotted spry stable stately steady stellar still stirring
stout striking striped strong sturdy sublime subtle sunny super supple supreme sure swift
talented tall tame tawny tender thankful thorough thrifty tidy timely tiny tireless topical
touching tranquil true trusted trusty twilight unbiased unhurried united upbeat upright useful
valiant valid valued vast velvet verdant versed vibrant vigilant violet vital vivid vocal
wandering warm watchful wealthy welcome western whimsical whole wild willing winged winning
winsome wise witty wondrous woolly workable worthy youthful zany zesty
`

const animals = `
aardvark adder agouti albatross alpaca anaconda anchovy angelfish ant anteater antelope ape
armadillo auk avocet axolotl baboon badger bandicoot barbet barnacle barracuda basilisk bass
bat bear beaver bee beetle beluga bison bittern blackbird boa boar bobcat bonobo booby buffalo
bug bulldog bullfinch bumblebee bunting burro bushbaby bustard butterfly buzzard caiman camel
canary capybara caracal cardinal caribou carp cassowary cat caterpillar catfish centipede
chameleon chamois cheetah chickadee chicken chimpanzee chinchilla chipmunk cicada civet clam
clownfish cobra cockatiel cockatoo cod collie condor conger coot coral corgi cormorant cougar
cow cowbird coyote crab crane crayfish cricket crocodile crow cuckoo curlew cuttlefish dachshund
dalmatian damselfly deer dhole dingo dinosaur dipper doe dog dogfish dolphin donkey dormouse dory
dove dragon dragonfly drake drongo duck duckling dugong dunlin dunnock eagle earwig echidna eel
egret eider eland elephant elk emu ermine ewe falcon fawn feline ferret finch firefly fish flamingo
flea flounder fly foal foxhound fowl fox frog fulmar gannet gar gazelle gecko gelding gerbil
gibbon giraffe glider gnat gnu goat gobbler goby goldfinch goldfish goose gopher gorilla goshawk
grackle grasshopper grayling grebe greyhound griffin grouper grouse grub gull guppy haddock hagfish
halibut hamster hare harrier hawk hedgehog hen heron herring hippo hog honeybee hoopoe hornbill
hornet horse hound hummingbird husky hyena hyrax ibex ibis iguana impala insect jackal jackdaw
jackrabbit jaguar jay jellyfish jennet kangaroo katydid kestrel kid kingfisher kit kite kitten kiwi
koala kodiak koi kookaburra krill kudu labrador lacewing ladybird lamb lamprey langur lapwing lark
lemming lemur leopard liger limpet linnet lion lionfish lizard llama lobster locust longhorn loon
loris lory lynx macaque macaw mackerel magpie mako mallard mammal mammoth manatee mandrill manta
mantis mare marlin marmoset marmot marten martin mastiff mastodon mayfly meerkat merlin midge mink
minnow mite mole mollusc mongoose monitor monkey moorhen moose moray mosquito moth mouse mudskipper
mule mullet muskox muskrat mussel mustang narwhal natterjack newt nighthawk nightingale numbat
nuthatch ocelot octopus okapi opossum orangutan orca oriole oryx osprey ostrich otter owl ox oyster
paca panda pangolin panther parakeet parrot parrotfish partridge peacock peafowl pelican penguin
perch peregrine petrel phalarope pheasant phoenix pig pigeon piglet pika pike pilchard pipit piranha
plaice platypus plover pointer polecat pony poodle porcupine porpoise possum prawn ptarmigan puffin
pug puma pup python quagga quail quetzal quokka quoll rabbit raccoon ram raptor rat raven ray redpoll
redshank redstart reindeer rhea rhino roach roadrunner robin rook rooster ruff sailfish salamander
salmon sandpiper sardine sawfish scallop scarab scorpion scoter seagull seahorse seal sealion
serval shark shearwater sheep shepherd shiner shrew shrike shrimp siskin skate skink skua skunk
skylark sloth slug smelt snail snake snapper snipe sole spaniel sparrow spider spoonbill springbok
sprat squid squirrel stag starfish starling stingray stoat stonechat stork sturgeon
sunbird sunfish swallow swan swift swordfish tadpole tahr takin tamarin tanager tapir tarantula
tarpon tarsier teal tenrec termite tern terrapin terrier tetra thrush tick tiger toad tomcat topi
tortoise toucan treefrog trout tuna turaco turbot turkey turnstone turtle unicorn urchin vervet
viper vole vulture wagtail wahoo wallaby walleye walrus warbler warthog wasp waterbuck waxwing weasel
weevil wheatear whelk whimbrel whippet whitefish wigeon wildcat wildebeest wolf wolverine wombat
woodcock woodlouse woodpecker worm wren wryneck yak yellowhammer zander zebra zebu
`
